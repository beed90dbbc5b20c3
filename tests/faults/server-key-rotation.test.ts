import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import {
  type ClientNetwork,
  CountersignClient,
  ProblemError,
  recoverDevice,
  rotateServerKeys,
  sendKeyChange,
  sendTransaction,
} from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { createAccessApi, decodeMessage, payloadMessage } from "@countersign/flow";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createKeystoreVault, readKeystore } from "../../services/signer/src/vault/index.ts";
import { type FaultStack, type Program, replicasOf, startFaultStack } from "./fault-stack.ts";
import { AGAIN_MS, logIn, newPhone, PATIENCE_MS, type Phone, persist, settle, signUp } from "./phone.ts";

/**
 * An account gets another server key while it signs, with two replicas of everything and with nobody refused.
 * What the chain refuses because the rotation overtook it, the client sends again.
 */
const NOTHING = "transaction { prepare(account: &Account) {} }";
const chainName = "flow-emulator";
let stack: FaultStack;
let access: ReturnType<typeof createAccessApi>;
let network: ClientNetwork;
beforeAll(async () => {
  stack = await startFaultStack();
  const [chain] = stack.stack.chains;
  network = { chainName, accessNode: chain!.accessNode, paymaster: chain!.paymaster };
  access = createAccessApi({ baseUrl: network.accessNode });
}, 180_000);
afterAll(() => stack?.stop(), 60_000);

const keystoreFile = () => join(stack.stack.stateDir, "keys/signer-keystore.json");
const passphraseFile = () => join(stack.stack.stateDir, "keys/signer-keystore.passphrase");

async function restartBoth(program: Program): Promise<void> {
  for (const name of replicasOf(program)) {
    await stack.bounce(name);
    await stack.allUp();
  }
}

/** The operator's steps, as docs/vaults.md has them; gives the new version. */
async function wantNextVersion(): Promise<number> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["services/signer/src/cli.ts", "keys", "rotate", "--role", "server"],
    {
      env: {
        PATH: process.env.PATH,
        SIGNER_KEYSTORE_FILE: keystoreFile(),
        SIGNER_KEYSTORE_PASSPHRASE_FILE: passphraseFile(),
      },
    },
  );
  const { version } = JSON.parse(stdout) as { version: number };
  await restartBoth("signer");
  const file = stack.stack.networksFile;
  const { networks } = JSON.parse(readFileSync(file, "utf8"));
  const changed = networks.map((entry: object) => ({ ...entry, serverKeyVersion: version }));
  writeFileSync(file, JSON.stringify({ networks: changed }));
  await restartBoth("signer");
  return version;
}

async function newPerson(n: number): Promise<Phone> {
  const phone = newPhone(stack.stack, n);
  await signUp(stack.stack, phone, await logIn(stack.stack, phone), true);
  await settle(phone);
  return phone;
}

const addressOf = async ({ client }: Phone) =>
  (await client.me()).addresses.find(({ chainType }) => chainType === "cadence")!.address.slice(2);

/** The server keys of an account on chain, by index. */
const serverKeysOf = async (phone: Phone) =>
  (await access.accountKeys(await addressOf(phone))).filter(({ hashAlgorithm }) => hashAlgorithm === "SHA3_256");

const derived = async ({ accountId }: Phone, version: number): Promise<string> => {
  const vault = createKeystoreVault(readKeystore(keystoreFile(), readFileSync(passphraseFile(), "utf8").trim()));
  return (await vault.publicKey({ role: "server", chainName, accountId, version })).publicKey;
};

const isUnanswered = (error: unknown): boolean => error instanceof ProblemError && error.status >= 503;

const send = (phone: Phone) => sendTransaction(phone.client, { network, cadence: NOTHING });

/** Rotates as a client does that is told of failures: looks again, until there is nothing left to sign and the chain shows the version. */
async function rotateTo(phone: Phone, version: number): Promise<void> {
  const wanted = await derived(phone, version);
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    await persist(phone, "rotation", async () => {
      await rotateServerKeys(phone.client, { networks: [network] }).catch((error: unknown) => {
        if (!(error instanceof ProblemError) || error.error !== "MessageRenewed") throw error;
      });
    });
    const active = (await persist(phone, "keys on chain", () => serverKeysOf(phone))).filter(({ revoked }) => !revoked);
    expect(active).toHaveLength(1);
    if (active[0]!.publicKey === wanted) return;
    if (performance.now() > end) throw new Error(`no rotation:\n${phone.story.join("\n")}`);
    await sleep(AGAIN_MS);
  }
}

it("a server key changes while its account signs: nobody is refused, and recovery works with the new one", {
  timeout: 400_000,
}, async () => {
  const person = await newPerson(0);
  const backup = generateDeviceKey();
  const { publicKey, algorithm } = backup;
  await sendKeyChange(person.client, {
    network,
    change: { template: "add-recovery-key", newKey: { publicKey, algorithm } },
  });
  await person.client.registerRecoveryKey({ publicKey, algorithm }, "ada@cloud.example");
  const other = await newPerson(1);
  expect(await person.client.serverKeyRotations()).toEqual([]);

  let done = false;
  const answers: string[] = [];
  /** Asks the signer for signatures, and for nothing else, as fast as it answers. */
  const askAll = async () => {
    const address = await addressOf(person);
    const keys = await access.accountKeys(address);
    const { index: keyId } = keys.find((key) => key.publicKey === person.deviceKey.publicKey)!;
    const { id: referenceBlockId } = await access.latestSealedBlock();
    while (!done) {
      const payload = payloadMessage({
        script: NOTHING,
        arguments: [],
        referenceBlockId,
        gasLimit: 100n,
        proposalKey: { address, keyId, sequenceNumber: 1_000_000n },
        payer: network.paymaster.replace("0x", ""),
        authorizers: [address],
      });
      await person.client.signTransaction(bytesToHex(payload), chainName).then(
        ({ keyId: by }) => answers.push(`key ${by}`),
        // A signer that was just started again may be out of the gateway's reach for a moment: that refuses nothing.
        (error: unknown) => isUnanswered(error) || answers.push((error as Error).message),
      );
      await sleep(30);
    }
  };
  const sent: string[] = [];
  const sendAll = async () => {
    while (!done) {
      await send(person).then(
        ({ result }) => sent.push(result.errorMessage),
        (error: unknown) => isUnanswered(error) || sent.push(String(error)),
      );
    }
  };
  const version = await wantNextVersion();
  expect(version).toBe(2);
  const load = [askAll(), sendAll()];
  await expect.poll(() => answers.length > 10 && sent.length > 2, { timeout: 60_000 }).toBe(true);

  const [old] = await serverKeysOf(person);
  // Two at once, as two devices would, and both answer the same.
  const [rotation] = await person.client.serverKeyRotations();
  expect(rotation!.chainName).toBe(chainName);
  const signature = bytesToHex(await person.deviceKey.sign(hexToBytes(rotation!.message)));
  const both = await Promise.all([0, 1].map(() => person.client.submitServerKeyRotation({ ...rotation!, signature })));
  expect(new Set(both.map(({ transaction }) => transaction.id)).size).toBe(1);
  await rotateTo(person, version);
  const moved = `key ${(await serverKeysOf(person)).find(({ revoked }) => !revoked)!.index}`;
  await expect.poll(() => answers.at(-1), { timeout: 20_000 }).toBe(moved);
  const sentBefore = sent.length;
  await expect.poll(() => sent.length, { timeout: 60_000 }).toBeGreaterThan(sentBefore + 3);
  done = true;
  await Promise.all(load);

  // Nobody was refused; first the old key signed, then the new one, and never again the old.
  expect(answers.filter((answer) => !answer.startsWith("key "))).toEqual([]);
  expect(answers.lastIndexOf(`key ${old!.index}`)).toBeLessThan(answers.indexOf(moved));
  expect(new Set(answers)).toEqual(new Set([`key ${old!.index}`, moved]));
  expect(sent.filter((message) => message !== "")).toEqual([]);

  expect(await serverKeysOf(person)).toMatchObject([
    { publicKey: await derived(person, 1), revoked: true, weight: 999 },
    { publicKey: await derived(person, 2), revoked: false, weight: 999 },
  ]);
  // Asked again it is what was done; another account's signature is none.
  expect((await person.client.submitServerKeyRotation({ ...rotation!, signature })).transaction).toEqual(
    both[0]!.transaction,
  );
  expect(await person.client.serverKeyRotations()).toEqual([]);
  const theft = other.client.submitServerKeyRotation({ ...rotation!, signature });
  await expect(theft).rejects.toMatchObject({ error: "InvalidSignature" });
  // The rotation is the account service's to ask for, whatever it rotates.
  for (const each of (await other.client.serverKeyRotations()).map(({ message }) => message)) {
    expect(decodeMessage(hexToBytes(each)).authorizers).toEqual([await addressOf(other)]);
    const direct = other.client.signTransaction(each, chainName);
    await expect(direct).rejects.toMatchObject({ reason: "BadTemplateArguments" });
  }

  // Who comes now has the new version from the beginning.
  const newcomer = await newPerson(2);
  expect(await serverKeysOf(newcomer)).toMatchObject([{ publicKey: await derived(newcomer, version), revoked: false }]);
  expect(await newcomer.client.serverKeyRotations()).toEqual([]);
  await send(newcomer);

  const listed = (await person.client.keys()).map(({ type, keyIndex }) => `${type} ${keyIndex}`);
  expect(listed.sort()).toEqual(["recover-key 2", "user-key 1"]);
  await send(other);
  // Recovery: the key from the backup lets a new device in, together with the new server key.
  const recovery = new CountersignClient({ baseUrl: stack.stack.gateway, deviceKey: backup });
  await recovery.signIn({ login: await logIn(stack.stack, person), chainName });
  const device = new CountersignClient({ baseUrl: stack.stack.gateway, deviceKey: generateDeviceKey() });
  const comeBack = async () =>
    recoverDevice({
      recovery,
      device,
      login: await logIn(stack.stack, person),
      chainName,
      signal: AbortSignal.timeout(60_000),
    });
  await expect(comeBack()).rejects.toMatchObject({ error: "DelayRequired" });
  const [delay] = await person.client.delays();
  await sleep(Math.max(0, new Date(delay!.availableAt).getTime() - Date.now()) + 500);
  await comeBack();
  await sendTransaction(device, { network, cadence: NOTHING });
});
