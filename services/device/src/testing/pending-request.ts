import { v7 } from "uuid";
import { memoryDeviceStore } from "./memory-device-store.ts";
import { memoryTwoFactorStore } from "./memory-two-factor-store.ts";
import { twoFactorWorld } from "./two-factor-world.ts";

export type PendingRequest = Awaited<ReturnType<typeof pendingRequest>>;

/** Opens a request for a new device, in stores of memory, on an account with one device, `old`. */
export async function pendingRequest() {
  const store = memoryTwoFactorStore();
  const world = twoFactorWorld({ requests: store, devices: memoryDeviceStore() });
  const accountId = v7();
  const old = await world.device(accountId);
  const { request: asked } = await world.open(world.enrollmentRequest(accountId));
  return {
    world,
    store,
    accountId,
    old,
    asked,
    /** The request as the store has it now. */
    row: () => store.rows.get(asked.id)!,
    /** The status in each event so far. */
    statuses: () => store.events.map(({ status }) => status),
  };
}
