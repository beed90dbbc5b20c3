import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CountersignClient, signTransaction } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { postgresHome } from "@countersign/dev/postgres.ts";
import { type RunningStack, startStack } from "@countersign/dev/stack.ts";
import {
  createAccessApi,
  encodeCadence,
  type FlowTransaction,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
  MAX_COMPUTATION,
} from "@countersign/flow";
import { afterAll, beforeAll, expect, it } from "vitest";
import { logIn, newPhone, settle, signUp } from "./phone.ts";

const stateDir = mkdtempSync(join(tmpdir(), "countersign-keys-"));
let running: RunningStack;

beforeAll(async () => {
  running = await startStack({
    stateDir,
    freePorts: true,
    throwAway: true,
    say: (line) => console.log(`stack: ${line}`),
  });
});
afterAll(async () => {
  await running?.stop();
  for (const path of [stateDir, postgresHome(stateDir)]) rmSync(path, { recursive: true, force: true });
});

/** A template, signed by everybody and not sent; `after`: how many others run before it. */
async function signed(client: CountersignClient, change: KeyChange, after: bigint): Promise<FlowTransaction> {
  const chain = running.stack.chains[0]!;
  const access = createAccessApi({ baseUrl: chain.accessNode });
  const { addresses } = await client.me();
  const address = addresses.find(({ chainType }) => chainType === "cadence")!.address.slice(2);
  const [block, keys] = await Promise.all([access.latestSealedBlock(), access.accountKeys(address)]);
  const payload = {
    script: keyTemplateScript(change.template),
    arguments: keyChangeArguments(change).map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: MAX_COMPUTATION,
    proposalKey: { address, keyId: 0, sequenceNumber: keys[0]!.sequenceNumber + after },
    payer: chain.paymaster.slice(2),
    authorizers: [address],
  };
  return signTransaction(client, payload, chain.chainName, 1);
}

it("the chain is changed while nobody looks: the list is right within five seconds of being back", async () => {
  const { stack } = running;
  const phone = newPhone(stack, 0);
  await signUp(stack, phone, await logIn(stack, phone), false);
  await settle(phone);
  const { client } = phone;
  const [stays, goes] = [generateDeviceKey(), generateDeviceKey()];
  const newKey = ({ publicKey, algorithm }: typeof stays) => ({ publicKey, algorithm });
  const changes: KeyChange[] = [
    { template: "add-user-key", newKey: newKey(stays) },
    { template: "add-user-key", newKey: newKey(goes) },
    { template: "revoke-user-key", oldKey: goes.publicKey },
  ];
  const transactions = await Promise.all(changes.map((change, i) => signed(client, change, BigInt(i))));

  for (const name of ["account", "key"]) await running.kill(name);
  const access = createAccessApi({ baseUrl: stack.chains[0]!.accessNode });
  for (const transaction of transactions) {
    const id = await access.submit(transaction);
    const result = await access.waitForSeal(id, { signal: AbortSignal.timeout(20_000) });
    expect(result.errorMessage).toBe("");
  }
  await Promise.all(["account", "key"].map((name) => running.restart(name)));

  const shown = async () =>
    (await client.keys({ includeRevoked: true })).map(({ keyIndex, publicKey, revokedAt }) => ({
      keyIndex,
      publicKey,
      revoked: revokedAt !== "",
    }));
  await expect
    .poll(() => shown().catch(() => []), { timeout: 5_000, interval: 100 })
    .toEqual([
      { keyIndex: 1, publicKey: phone.deviceKey.publicKey, revoked: false },
      { keyIndex: 2, publicKey: stays.publicKey, revoked: false },
      { keyIndex: 3, publicKey: goes.publicKey, revoked: true },
    ]);
});
