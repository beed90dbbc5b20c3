import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  certificateRotation,
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
import { type FaultStack, startFaultStack } from "./fault-stack.ts";

/** `npm run test:operations` does the same for ten minutes, with two replicas. */
const CERTIFICATE_MS = 20_000;
const RESIDENTS = 2;

let stack: FaultStack;
beforeAll(async () => {
  stack = await startFaultStack({}, 1, undefined, prepareRotation);
}, 180_000);
afterAll(() => stack?.stop(), 60_000);

it("everything is replaced under load, and no request fails", async () => {
  const load = startLoad(stack, RESIDENTS);
  const backend = startBackend(stack);
  const certificates = certificateRotation(stack, CERTIFICATE_MS);
  try {
    await backend.call();
    await certificates.addAuthority();
    await certificates.issue();
    const stream = backend.openStream();
    await rotatePasswords(stack);
    await rotateKeyring(stack);
    await rotateProviders(stack, "second");
    await rotateNetworks(stack, "explorer");
    await certificates.issue();
    await certificates.removeAuthorities();
    await backend.call();
    await rotatePeers(stack, "without");
    const removedAt = performance.now();
    await expect(backend.call()).rejects.toMatchObject({ reason: "CallerNotAllowed" });
    expect(await stream).toMatchObject({ reason: "CallerNotAllowed" });
    expect(performance.now() - removedAt).toBeLessThan(2_000);
    await rotatePeers(stack, "with");
    await backend.call();
    // The first certificates have expired by then.
    await certificates.issue();
    await sleep(8_000);
    expect(await networksOf(load.persons[0]!)).toMatchObject([{ explorerUrl: "https://explorer.example/{id}" }]);
  } finally {
    await backend.close();
  }
  const { failed, ...counts } = await load.stop();
  console.log(`rotation: ${JSON.stringify(counts)}, ${failed.length} failed`);
  expect(failed).toEqual([]);
  expect(stack.died()).toEqual([]);
}, 120_000);
