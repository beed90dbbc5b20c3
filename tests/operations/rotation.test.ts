import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chainReader } from "../faults/chain-reader.ts";
import { type FaultStack, startFaultStack } from "../faults/fault-stack.ts";
import { broken, quiet } from "../faults/invariants.ts";
import {
  certificateRotation,
  keysUnderOldKey,
  networksOf,
  prepareRotation,
  rotateKeyring,
  rotateNetworks,
  rotatePasswords,
  rotatePeers,
  rotateProviders,
  startBackend,
  startLoad,
} from "../support/rotation.ts";

const MINUTE_MS = 60_000;
const MINUTES = 10;
const CERTIFICATE_MS = 2 * MINUTE_MS;
const RESIDENTS = 2;

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
  const load = startLoad(stack, RESIDENTS);
  const backend = startBackend(stack);
  const certificates = certificateRotation(stack, CERTIFICATE_MS);
  const began = performance.now();
  let removeOldKeys: (() => Promise<number>) | undefined;
  /** In the minutes after the first, by number. Certificates are issued in each minute. */
  const others: Record<number, () => Promise<unknown>> = {
    1: () => rotatePasswords(stack),
    2: async () => {
      removeOldKeys = await rotateKeyring(stack);
    },
    3: () => rotateProviders(stack, "second"),
    4: () => rotateNetworks(stack, "explorer"),
    5: async () => {
      // The token keys are encrypted again two minutes after the keyring has changed.
      await expect.poll(() => keysUnderOldKey(stack), { timeout: 70_000, interval: 1_000 }).toEqual([0, 0]);
      await removeOldKeys!();
    },
    6: async () => {
      const stream = backend.openStream();
      await rotatePeers(stack, "without");
      const removedAt = performance.now();
      await expect(backend.call()).rejects.toMatchObject({ reason: "CallerNotAllowed" });
      expect(await stream).toMatchObject({ reason: "CallerNotAllowed" });
      expect(performance.now() - removedAt).toBeLessThan(2_000);
      await rotatePeers(stack, "with");
    },
    7: () => rotatePasswords(stack),
  };
  try {
    for (let minute = 0; minute < MINUTES; minute += 1) {
      if (minute % 2 === 0) await certificates.addAuthority();
      await certificates.issue();
      // Every other minute the CA of the minute before goes.
      if (minute % 2 === 1) await certificates.removeAuthorities();
      await others[minute]?.();
      await backend.call();
      await sleep(Math.max(0, began + (minute + 1) * MINUTE_MS - performance.now()));
    }
    expect(await networksOf(load.persons[0]!)).toMatchObject([{ explorerUrl: "https://explorer.example/{id}" }]);
  } finally {
    await backend.close();
  }
  const { failed, ...counts } = await load.stop();
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(`rotation: ${seconds} s, ${JSON.stringify(counts)}, ${failed.length} failed`);
  expect(failed).toEqual([]);
  expect(stack.died()).toEqual([]);
  await certificates.issue();
  await quiet(stack.stack, 60_000);
  expect(await broken(stack.stack, chain, startHeight, load.persons)).toEqual([]);
});
