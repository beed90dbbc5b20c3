import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chainReader } from "../faults/chain-reader.ts";
import { type FaultStack, startFaultStack } from "../faults/fault-stack.ts";
import { broken, quiet } from "../faults/invariants.ts";
import {
  keysUnderOldKey,
  prepareRotation,
  rotateKeyring,
  rotateNetworks,
  rotatePasswords,
  rotateProviders,
} from "../support/rotation.ts";
import { removeRights, replaceUnderLoad } from "../support/rotation-load.ts";

const MINUTE_MS = 60_000;
const MINUTES = 10;
const CERTIFICATE_MS = 2 * MINUTE_MS;

let stack: FaultStack;
beforeAll(async () => {
  stack = await startFaultStack({}, 2, undefined, prepareRotation);
}, 180_000);
afterAll(() => stack?.stop(), 60_000);

it("ten minutes of load with certificates of two minutes from changing CAs, and everything else replaced: no request fails", {
  timeout: (MINUTES + 4) * MINUTE_MS,
}, async () => {
  const chain = chainReader(stack.stack.chains[0]!.accessNode);
  const startHeight = await chain.height();
  const began = performance.now();
  const { persons, certificates } = await replaceUnderLoad(stack, CERTIFICATE_MS, async ({ backend, certificates }) => {
    let removeOldKeys: (() => Promise<number>) | undefined;
    /** In the minutes after the first, by number. Certificates are issued in each minute. */
    const others: Record<number, () => Promise<unknown>> = {
      1: () => rotatePasswords(stack),
      2: async () => {
        removeOldKeys = await rotateKeyring(stack);
      },
      3: () => rotateProviders(stack, "second"),
      4: () => rotateNetworks(stack),
      5: async () => {
        // The token keys are encrypted again two minutes after the keyring has changed.
        await expect.poll(() => keysUnderOldKey(stack), { timeout: 70_000, interval: 1_000 }).toEqual([0, 0]);
        await removeOldKeys!();
      },
      6: () => removeRights(stack, backend, backend.openStream()),
      7: () => rotatePasswords(stack),
    };
    for (let minute = 0; minute < MINUTES; minute += 1) {
      if (minute % 2 === 0) await certificates.addAuthority();
      await certificates.issue();
      // Every other minute the CA of the minute before goes.
      if (minute % 2 === 1) await certificates.removeAuthorities();
      await others[minute]?.();
      await backend.call();
      await sleep(Math.max(0, began + (minute + 1) * MINUTE_MS - performance.now()));
    }
  });
  await certificates.issue();
  await quiet(stack.stack);
  expect(await broken(stack.stack, chain, startHeight, persons)).toEqual([]);
});
