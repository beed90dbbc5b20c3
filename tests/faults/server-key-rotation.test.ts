import { hash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ProblemError, recoverDevice, sendKeyChange, sendTransaction } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { decodeMessage } from "@countersign/flow";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import { ServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { createPhone, logIn } from "@countersign/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { verifyChain } from "../../services/signer/src/testing/verify-chain.ts";
import { query, readAudit } from "./books.ts";
import { chainReader, signedMessages } from "./chain-reader.ts";
import { faultPointsOf } from "./fault-points.ts";
import { type FaultStack, type Program, startFaultStack } from "./fault-stack.ts";
import { type Cell, createKillScheduler } from "./kill-scheduler.ts";
import { AGAIN_MS, type Person, persist, recordLine } from "./person.ts";
import { seededRandom } from "./seed.ts";
import { serverKeys } from "./server-keys.ts";

/**
 * Rotates accounts' server keys while they sign: with two replicas of every program and no refusals, and with
 * account and signer killed at every fault point.
 * The client sends again what the chain refuses because the rotation overtook it.
 */
const TOGETHER = 4;
const CROWD = process.env.FAULT_ALL === undefined ? 12 : 24;
let stack: FaultStack;
let tools: ReturnType<typeof serverKeys>;
/** The persons of the second test: a new account would have the wanted version from the beginning. */
const crowd: Person[] = [];
beforeAll(async () => {
  stack = await startFaultStack();
  tools = serverKeys(stack);
  crowd.push(...(await Promise.all(Array.from({ length: CROWD }, (_, n) => tools.newPerson(n)))));
}, 240_000);
afterAll(() => stack?.stop(), 60_000);

const isUnanswered = (error: unknown): boolean => error instanceof ProblemError && error.status >= 503;

let raising: Promise<number> | undefined;
/** Returns the version that the operator wants, from whichever test comes first. */
function wantedVersion(): Promise<number> {
  raising ??= tools.wantNextVersion();
  return raising;
}

/**
 * A holder of the account service's certificate gives the signer a key that is not the chain's: signatures
 * are invalid until the next look at rotations, which repairs the binding.
 */
async function expectBindingRepaired(person: Person, version: number): Promise<void> {
  const asAccount = createRpcClient(ServerKeysService, {
    address: stack.stack.processes.signer!.grpc!,
    tls: loadTls(tlsFiles(stack.stack.stateDir, "account")),
    serverName: "signer",
    deadlineMs: 5_000,
  });
  const { accountId } = person;
  const { chainName } = tools.network;
  const rotateBinding = (serverKeyIndex: number, serverKeyVersion: number) =>
    asAccount.rotateBinding({ accountId, chainName, serverKeyIndex, serverKeyVersion, replacesVersion: 0 });
  const signedBy = await tools.signatureRequester(person);
  const right = await signedBy();
  try {
    const wrong = [
      [0, version],
      [0x7fffffff, version],
      [9, version + 1],
      [9, version - 1],
    ] as const;
    for (const [index, of] of wrong)
      await expect(rotateBinding(index, of)).rejects.toMatchObject({ metadata: { reason: "BindingConflict" } });
    // A late report of an older version changes nothing.
    await rotateBinding(0, 1);
    expect(await signedBy()).toBe(right);
    await rotateBinding(9, version);
    await expect.poll(signedBy, { timeout: 20_000 }).toBe(9);
    expect(await persist(person, "repair", () => person.client.serverKeyRotations())).toEqual([]);
    await expect.poll(signedBy, { timeout: 20_000 }).toBe(right);
  } finally {
    asAccount.close();
  }
  await tools.send(person);
}

it("a server key changes while its account signs: nobody is refused, and recovery works with the new one", {
  timeout: 400_000,
}, async () => {
  const { network, newPerson, serverKeysOf, derived, send, rotateTo } = tools;
  const { chainName } = network;
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
  const askAll = async () => {
    const ask = await tools.signatureRequester(person);
    while (!done) {
      await ask().then(
        (by) => answers.push(`key ${by}`),
        // The gateway may not reach a restarted signer for a moment: that is not a refusal.
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
  const version = await wantedVersion();
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
  // Only the account service may request a rotation, of any key.
  for (const each of (await other.client.serverKeyRotations()).map(({ message }) => message)) {
    expect(decodeMessage(hexToBytes(each)).authorizers).toEqual([other.address]);
    const direct = other.client.signTransaction(each, chainName);
    await expect(direct).rejects.toMatchObject({ reason: "BadTemplateArguments" });
  }

  await expectBindingRepaired(person, version);

  // A new account has the new version from the beginning.
  const latest = await newPerson(2);
  expect(await serverKeysOf(latest)).toMatchObject([{ publicKey: await derived(latest, version), revoked: false }]);
  expect(await latest.client.serverKeyRotations()).toEqual([]);
  await send(latest);

  const listed = (await person.client.keys()).map(({ type, keyIndex }) => `${type} ${keyIndex}`);
  expect(listed.sort()).toEqual(["recover-key 2", "user-key 1"]);
  await send(other);
  // Recovery: the key from the backup enrolls a new device, together with the new server key.
  const { client: recovery } = createPhone(stack.stack, { deviceKey: backup });
  await recovery.signIn({ login: await logIn(stack.stack, person.email), chainName });
  const { client: device } = createPhone(stack.stack);
  const comeBack = async () =>
    recoverDevice({
      recovery,
      device,
      login: await logIn(stack.stack, person.email),
      chainName,
      signal: AbortSignal.timeout(60_000),
    });
  await expect(comeBack()).rejects.toMatchObject({ error: "TimeLockRequired" });
  const [timeLock] = await person.client.timeLocks();
  await sleep(Math.max(0, new Date(timeLock!.availableAt).getTime() - Date.now()) + 500);
  await comeBack();
  await sendTransaction(device, { network, cadence: "transaction { prepare(account: &Account) {} }" });
});

const random = seededRandom("rotation of server keys");
/** Kills the point's own program, at a third of the points also the other; with FAULT_ALL always both. */
const cells: Cell[] = faultPointsOf("rotateServerKey").flatMap((point): Cell[] => {
  const [own, other] = (point.startsWith("signer/") ? ["signer", "account"] : ["account", "signer"]) as [
    Program,
    Program,
  ];
  const both = process.env.FAULT_ALL !== undefined || random.below(3) === 0;
  return [{ point, victim: own }, ...(both ? [{ point, victim: other }] : [])];
});
const LIMIT_MS = 150_000;

/** Rotates while it requests signatures; returns the keys that signed. Throws on a final refusal. */
async function rotateUnderLoad(person: Person, version: number): Promise<Set<number>> {
  const ask = await persist(person, "account", () => tools.signatureRequester(person));
  const signedBy = new Set<number>();
  let done = false;
  const asking = (async () => {
    while (!done) {
      signedBy.add(await persist(person, "signature", ask));
      await sleep(AGAIN_MS);
    }
  })();
  await Promise.all([tools.rotateTo(person, version).finally(() => (done = true)), asking]);
  return signedBy;
}

/** Returns signatures of these accounts' server keys on the chain without a valid audit record. */
async function unrecorded(addresses: ReadonlySet<string>, after: bigint): Promise<string[]> {
  const audit = await readAudit(stack.stack);
  const broken = audit.map(({ head, records }) => verifyChain(records, head)).filter((wrong) => wrong !== "");
  const signed = audit.flatMap(({ records }) => records.filter(({ verdict }) => verdict === "signed"));
  const hashes = new Set(signed.map(({ messageHash }) => messageHash));
  const transactions = await chainReader(tools.network.accessNode).transactions(after);
  const missing = transactions.flatMap((transaction) =>
    signedMessages(transaction)
      .filter(({ address, keyId }) => addresses.has(address) && keyId !== 1)
      .filter(({ message }) => !hashes.has(hash("sha256", message)))
      .map(({ address, keyId }) => `${transaction.id}: ${address}/${keyId}`),
  );
  return [...broken, ...missing];
}

it("account and signer are killed at every fault point of a rotation: it is done once and completely", {
  timeout: LIMIT_MS + 120_000,
}, async () => {
  let version = await wantedVersion();
  const after = await chainReader(tools.network.accessNode).height();
  const started = performance.now();
  const signedBy = new Set<number>();
  const log = (line: string) => crowd.forEach((person) => void recordLine(person, `-- ${line}`));
  const killScheduler = createKillScheduler(stack, cells, [], random, log);
  const open = async () =>
    (
      await query<{ n: number }>(
        stack.stack,
        "account",
        "SELECT count(*)::int AS n FROM server_key_rotation WHERE state = 'submitted'",
      )
    )[0]!.n;
  const rotateAll = async () => {
    for (let n = 0; n < crowd.length; n += TOGETHER) {
      stack.controller.judge = killScheduler.judge;
      const people = crowd.slice(n, n + TOGETHER);
      const keys = await Promise.all(people.map((person) => rotateUnderLoad(person, version)));
      for (const key of keys.flatMap((used) => [...used])) signedBy.add(key);
      // The last places are passed when the client has its answer already.
      await expect.poll(open, { timeout: 60_000 }).toBe(0);
      stack.controller.judge = undefined;
      await stack.allUp();
    }
  };
  await rotateAll();
  // Points that were not reached are tried with one more version.
  while (killScheduler.open() > 0 && performance.now() - started < LIMIT_MS) {
    version = await tools.wantNextVersion();
    await rotateAll();
  }
  await killScheduler.stop();
  await stack.allUp();
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(
    `rotation: ${cells.length} cells in ${killScheduler.kills()} kills, ${crowd.length} accounts to version ${version}, ${seconds} s`,
  );
  expect(cells.filter(({ killed }) => killed === undefined)).toEqual([]);
  expect(signedBy.size).toBe(version);

  const addresses = new Set<string>();
  const check = async (person: Person) => {
    const story = person.story.join("\n");
    addresses.add(person.address);
    const { result } = await persist(person, "transaction", () => tools.send(person));
    expect(result.errorMessage, story).toBe("");
    const onChain = await persist(person, "keys on chain", () => tools.serverKeysOf(person));
    const versions = await Promise.all(onChain.map((_, i) => tools.derived(person, i + 1)));
    expect(onChain, story).toMatchObject(
      versions.map((publicKey, i) => ({ publicKey, revoked: i + 1 !== version, weight: 999 })),
    );
    expect(onChain, story).toHaveLength(version);
    expect(await persist(person, "rotations", () => person.client.serverKeyRotations()), story).toEqual([]);
  };
  await Promise.all(crowd.map(check));
  expect(await unrecorded(addresses, after)).toEqual([]);
  expect(stack.died()).toEqual([]);
});
