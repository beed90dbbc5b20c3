import { AccessApiError } from "@countersign/flow";
import { expect, it } from "vitest";
import type { Lease } from "../domain/ports.ts";
import { narrowRanges } from "./narrow-ranges.ts";

it("reads fewer blocks after a failure, until an answer comes, and more again after it", async () => {
  let limit = 250n;
  const asked: bigint[] = [];
  const round = narrowRanges(async ({ maxEventBlocks }: { chainName: string; maxEventBlocks: bigint }) => {
    asked.push(maxEventBlocks);
    if (maxEventBlocks > limit) throw new Error("too much for one answer");
    return true;
  });
  const once = (chainName = "a") =>
    round({ chainName, maxEventBlocks: 250n }, {} as Lease, new AbortController().signal).catch(() => false);

  await once();
  limit = 1n;
  for (let failures = 0; failures < 9; failures++) await once();
  await once("b");
  limit = 250n;
  for (let more = 0; more < 9; more++) await once();
  const down = [250n, 250n, 125n, 62n, 31n, 15n, 7n, 3n, 1n, 2n];
  expect(asked).toEqual([...down, 250n, ...[1n, 2n, 4n, 8n, 16n, 32n, 64n, 128n, 250n]]);
});

it("goes on at once where several blocks are too much: one that waits at every second stays behind the chain", async () => {
  let [limit, status] = [1n, 0];
  const round = narrowRanges(async ({ maxEventBlocks }: { chainName: string; maxEventBlocks: bigint }) => {
    if (maxEventBlocks > limit) throw new AccessApiError("too much for one answer", status);
    return false;
  });
  const once = () => round({ chainName: "a", maxEventBlocks: 4n }, {} as Lease, new AbortController().signal);
  expect([await once(), await once(), await once(), await once()]).toEqual([true, true, false, true]);
  limit = 0n;
  await expect(once()).rejects.toMatchObject({ status: 0 });
  limit = 1n;
  status = 404;
  expect(await once()).toBe(false);
  await expect(once()).rejects.toMatchObject({ status: 404 });
});
