import { Event } from "@countersign/proto/events/v1/events.ts";
import { v7 } from "uuid";
import { beforeEach, expect, it } from "vitest";
import type { Device } from "../domain/devices/device.ts";
import type { TwoFactor } from "../domain/two-factor/two-factor.ts";
import { onTwoFactorChanged } from "./on-two-factor-changed.ts";
import type { Push } from "./push-devices.ts";

const accountId = v7();
const occurredAt = new Date("2026-11-20T10:00:00Z");
const devices = [{ id: "one" }, { id: "two" }] as Device[];
let request: Pick<TwoFactor, "id" | "status" | "destDeviceId"> | undefined;
let pushes: { devices: readonly Device[]; push: Push }[];

beforeEach(() => {
  request = { id: v7(), status: "pending", destDeviceId: "two" };
  pushes = [];
});

async function handle(status: string, changes: Partial<Event> = {}, subject = accountId) {
  const event = Event.fromPartial({
    id: v7(),
    accountId,
    occurredAt,
    twoFactorChanged: { id: request?.id ?? v7(), status },
    ...changes,
  });
  await onTwoFactorChanged({
    devices: { listLive: async () => devices },
    requests: { find: async () => request as TwoFactor | undefined },
    push: async (to, push) => void pushes.push({ devices: to, push }),
  })({ subject: `cs.v1.device.${subject}.two-factor-changed`, attempt: 1, event });
  return pushes.at(-1)?.push;
}
const visible = (push: Push | undefined) => devices.filter((device) => push?.visibleTo(device)).map(({ id }) => id);

it("asks the destination device visibly and wakes the others", async () => {
  const push = await handle("pending");
  expect(push).toMatchObject({
    kind: "two-factor.requested",
    twoFactorId: request!.id,
    collapseKey: request!.id,
    expiresAt: new Date("2026-11-20T10:05:00Z"),
  });
  expect(visible(push)).toEqual(["two"]);
});

it("asks all where there is no destination", async () => {
  request!.destDeviceId = null;
  expect(visible(await handle("pending"))).toEqual(["one", "two"]);
});

it("only wakes for what comes later", async () => {
  for (const status of ["approved", "rejected", "expired", "finished", "failed"] as const) {
    request!.status = status;
    const push = await handle(status);
    expect(push?.kind).toBe(`two-factor.${status}`);
    expect(visible(push)).toEqual([]);
  }
});

it("does not ask about what was answered meanwhile, is not known, or is not the account's", async () => {
  request!.status = "rejected";
  await handle("pending");
  await handle("unheard-of");
  await handle("approved", {}, v7());
  await handle("approved", { twoFactorChanged: undefined });
  // Its statement is shared with others' events, and would fail for all of them.
  await handle("approved", { id: "no UUID" });
  request = undefined;
  await handle("approved");
  expect(pushes).toEqual([]);
});
