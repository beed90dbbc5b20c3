import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, it } from "vitest";
import {
  prepareRotation,
  rotateKeyring,
  rotateNetworks,
  rotatePasswords,
  rotateProviders,
} from "../support/rotation.ts";
import { removeRights, replaceUnderLoad } from "../support/rotation-load.ts";
import { type FaultStack, startFaultStack } from "./fault-stack.ts";

/** `npm run test:operations` does the same for ten minutes, with two replicas. */
const CERTIFICATE_MS = 20_000;

let stack: FaultStack;
beforeAll(async () => {
  stack = await startFaultStack({}, 1, undefined, prepareRotation);
}, 180_000);
afterAll(() => stack?.stop(), 60_000);

it("everything is replaced under load, and no request fails", async () => {
  await replaceUnderLoad(stack, CERTIFICATE_MS, async ({ backend, certificates }) => {
    await backend.call();
    await certificates.addAuthority();
    await certificates.issue();
    const stream = backend.openStream();
    await rotatePasswords(stack);
    await rotateKeyring(stack);
    await rotateProviders(stack, "second");
    await rotateNetworks(stack);
    await certificates.issue();
    await certificates.removeAuthorities();
    await backend.call();
    await removeRights(stack, backend, stream);
    await backend.call();
    // The first certificates have expired by then.
    await certificates.issue();
    await sleep(8_000);
  });
}, 120_000);
