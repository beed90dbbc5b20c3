import { Event } from "@countersign/proto/events/v1/events.ts";
import { expect, it } from "vitest";
import type { FollowChain } from "../domain/follow-chain.ts";
import { onAccountKeysChanged } from "./account-keys-changed.ts";

const accountId = "01900000-0000-7000-8000-000000000001";
const other = "01900000-0000-7000-8000-000000000002";

/** Delivers changes one after the other to a process whose node cannot list the keys of the first account. */
async function deliver(changes: readonly { accountId: string; chainName: string; height: bigint }[]) {
  const read: string[] = [];
  const handle = onAccountKeysChanged(async ({ accountId: id, atLeast }: FollowChain) => {
    read.push(`${id === accountId ? "failing" : "other"} ${atLeast!.chainName} ${atLeast!.height}`);
    if (id === accountId) throw new Error("its keys cannot be listed");
  });
  const failed: bigint[] = [];
  for (const { accountId: id, ...accountKeysChanged } of changes) {
    const event = Event.create({ accountId: id, accountKeysChanged });
    const delivered = { subject: "", attempt: 1, event };
    await handle(delivered).catch(() => failed.push(accountKeysChanged.height));
  }
  return { read, failed };
}

it("of an account whose keys cannot be read, only the newest change on a chain comes again", async () => {
  const at = (height: bigint, chainName = "flow") => ({ accountId, chainName, height });
  const { read, failed } = await deliver([at(5n), at(6n), at(5n), at(6n), at(4n, "evm"), at(6n)]);
  expect(read).toEqual(["failing flow 5", "failing flow 6", "failing flow 6", "failing evm 4", "failing flow 6"]);
  expect(failed).toEqual([5n, 6n, 6n, 4n, 6n]);
});

it("changes of other accounts are followed as they come", async () => {
  const changes = [9n, 3n].map((height, i) => ({ accountId: i === 0 ? accountId : other, chainName: "flow", height }));
  expect(await deliver(changes)).toEqual({ read: ["failing flow 9", "other flow 3"], failed: [9n] });
});
