import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { openDatabaseMark } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import type { ChainLine } from "@countersign/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { postgresBindingStore } from "../store/postgres-binding-store.ts";
import { prismaTimeLockStore } from "../store/prisma-time-lock-store.ts";
import { restoreKeys } from "../store/restore-keys.ts";
import { chainName, newAddress } from "../testing/binding-fixture.ts";
import { clock, database, postgres, prisma } from "../testing/store-fixture.ts";
import { addServerRoot, createKeystoreVault, ensureKeystore, type Vault } from "../vault/index.ts";
import { restore } from "./restore.ts";

const PASSPHRASE = "correct horse battery staple";
let directory: string;
let vault: Vault;
const at = (name: string) => join(directory, name);
beforeAll(async () => {
  await openDatabaseMark(postgres);
  directory = mkdtempSync(join(tmpdir(), "countersign-restore-"));
  writeFileSync(at("passphrase"), PASSPHRASE);
  ensureKeystore(at("keystore"), PASSPHRASE, chainName);
  vault = createKeystoreVault(addServerRoot(at("keystore"), PASSPHRASE));
}, 60_000);
afterAll(() => rmSync(directory, { recursive: true }));

type Lines = readonly (Omit<ChainLine, "height"> & { height?: string })[];
async function run(chain: Lines, signedUp: readonly object[], events: readonly object[] = [], more: string[] = []) {
  const write = (name: string, lines: readonly object[]) => {
    writeFileSync(at(name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    return at(name);
  };
  const lines: string[] = [];
  const args = [
    ...["--since", "2026-11-20T09:00:00Z", "--by", "ada", "--reason", "disk lost", "--no-checkpoints", ...more],
    ...["--chain", write("chain", chain), "--signed-up", write("signed-up", signedUp), "--out", at("out")],
    ...(events.length > 0 ? ["--events", write("events", events)] : ["--no-events"]),
  ];
  const env = { SIGNER_DATABASE_URL: database.url, SIGNER_KEYSTORE_FILE: at("keystore") };
  await restore.run({
    args,
    env: { ...env, SIGNER_KEYSTORE_PASSPHRASE_FILE: at("passphrase") },
    print: (line) => lines.push(line),
  });
  const found = readFileSync(at("out"), "utf8").split("\n").slice(0, -1);
  return { output: lines.join("\n"), found: found.map((line) => JSON.parse(line) as { accountId: string }) };
}

const newKey = () => {
  const { algorithm, publicKey } = generateKeyPair().publicKey;
  return { algorithm: algorithm as "ES256", publicKey };
};
const serverKey = async (accountId: string, version = 1) =>
  (await vault.publicKey({ role: "server", chainName, accountId, version })).publicKey;
/** An account on chain, as `account chain-report` writes it. */
async function created(accountId: string) {
  const [userKey, address] = [newKey(), newAddress()];
  const line = {
    kind: "created" as const,
    chainName,
    address,
    serverKey: await serverKey(accountId),
    userKey,
    transactionId: "ab".repeat(32),
  };
  return { accountId, address, userKey, line, signedUp: { accountId, chainName, userKey } };
}

describe("the signer finds again", () => {
  it("an account by the server key of its id, and by nothing else", async () => {
    const { line, signedUp, accountId, address } = await created(uuidv7(clock));
    // Another identity that signed up with the same user key does not get it.
    const thief = { ...signedUp, accountId: uuidv7(clock) };
    expect((await run([line], [thief])).output).toContain(`UNKNOWN  0x${address}`);
    expect(await postgresBindingStore(postgres).find(thief.accountId)).toEqual([]);
    const { found } = await run([line], [thief, signedUp]);
    expect(found).toMatchObject([{ accountId, address, serverKeyIndex: 0, serverKeyVersion: 1 }]);
    // As old as it may be: a young account changes its recovery key without a time lock.
    const boundAt = new Date("2026-11-20T08:59:00Z");
    const binding = { address, serverKeyVersion: 1, boundAt };
    expect(await postgresBindingStore(postgres).find(accountId)).toMatchObject([binding]);
    expect(await prisma.signedCreation.count({ where: { accountId } })).toBe(1);
    expect(await prisma.addedKey.findFirst({ where: { accountId } })).toMatchObject({ source: "creation" });
    // Again, without any file but the chain's: the binding is the account's by now.
    expect((await run([line], [])).found).toHaveLength(1);
  });

  it("the id of an account that auth forgot, in an event", async () => {
    const { line, accountId, address } = await created(uuidv7(clock));
    const event = Event.create({ id: uuidv7(clock), accountId, requestId: "", addressBound: { chainName, address } });
    const subject = `cs.v1.signer.${accountId}.address-bound`;
    const events = [{ subject, event: Buffer.from(Event.encode(event).finish()).toString("base64") }];
    expect((await run([line], [], events)).found).toMatchObject([{ accountId }]);
  });

  it("in spite of a checkpoint that another service has forged", async () => {
    const { line, signedUp, accountId } = await created(uuidv7(clock));
    const auditCheckpoint = { text: Buffer.from("forged"), signature: Buffer.alloc(64), keyVersion: 1 };
    const forged = Event.encode(Event.create({ id: uuidv7(clock), accountId, auditCheckpoint })).finish();
    const events = [{ subject: "cs.v1.device.all.audit-checkpoint", event: Buffer.from(forged).toString("base64") }];
    expect((await run([line], [signedUp], events)).found).toMatchObject([{ accountId }]);
  });

  it("rotated server keys, keys that it added, and revoked keys; no key that somebody else added", async () => {
    const { line, signedUp, accountId, address, userKey } = await created(uuidv7(clock));
    const [added, foreign, revoked, recovery] = [newKey(), newKey(), newKey(), newKey()];
    const user = { weight: 1, role: "user" as const, revoked: false, ours: true };
    const server = { algorithm: "ES256" as const, weight: 999, role: "server" as const, ours: true };
    const keys = [
      { ...server, index: 0, publicKey: line.serverKey, revoked: true },
      { ...user, index: 1, ...userKey },
      { ...user, index: 2, ...added },
      { ...user, index: 3, ...foreign, ours: false },
      { ...user, index: 4, ...revoked, revoked: true },
      { ...user, index: 5, ...recovery, role: "recovery" as const, weight: 999 },
      { ...server, index: 6, publicKey: await serverKey(accountId, 2), revoked: false },
    ];
    await run([line, { kind: "keys", chainName, address, height: "9", keys } as Lines[number]], [signedUp]);
    const [binding] = await postgresBindingStore(postgres).find(accountId);
    expect(binding).toMatchObject({ serverKeyIndex: 6, serverKeyVersion: 2, retired: [{ index: 0, version: 1 }] });
    const known = (await prisma.addedKey.findMany({ where: { accountId } })).map(({ publicKey }) => publicKey);
    expect(known.sort()).toEqual([userKey, added, revoked].map(({ publicKey }) => publicKey).sort());
    // Young: its age decides about other keys.
    const [row] = await prisma.addedKey.findMany({ where: { accountId, publicKey: added.publicKey } });
    expect(Date.now() - row!.signedAt.getTime()).toBeLessThan(60_000);
    const keysOf = (rows: { keyX?: string; publicKey?: string }[]) => rows.map((each) => each.keyX ?? each.publicKey);
    expect(keysOf(await prisma.revokedKey.findMany({ where: { accountId } }))).toEqual([
      revoked.publicKey.slice(0, 64),
    ]);
    expect(
      keysOf((await prisma.recoveryKey.findMany({ where: { accountId } })).map(({ publicKey }) => ({ publicKey }))),
    ).toEqual([recovery.publicKey]);
  });
});

it("the keys of an account whose owner has added and revoked thousands take few statements", async () => {
  const { line, signedUp, accountId, address } = await created(uuidv7(clock));
  await run([line], [signedUp]);
  const keys = Array.from({ length: 10_000 }, (_, i) => {
    const publicKey = (i + 2).toString(16).padStart(64, "0").padEnd(128, "0");
    const owners = { weight: 1000, role: "user" as const, revoked: true, ours: false };
    return { index: i + 2, publicKey, algorithm: "ES256" as const, ...owners };
  });
  let statements = 0;
  const counting = prisma.$extends({
    query: {
      $allOperations({ args, query }) {
        statements += 1;
        return query(args);
      },
    },
  });
  const changed = { kind: "keys" as const, accountId, chainName, address, height: 9n, keys };
  await restoreKeys(counting as unknown as typeof prisma, changed, async () => undefined, clock.now());
  expect(await prisma.revokedKey.count({ where: { accountId } })).toBe(keys.length);
  expect(statements).toBeLessThan(10);
});

it("a time lock that ran begins again: it may have been cancelled since", async () => {
  const accountId = uuidv7(clock);
  const [startedAt, hour] = [new Date(Date.now() - 7_200_000), 3_600_000];
  const lock = {
    ...{ id: uuidv7(clock), accountId, chainName, operation: "add-recovery-key", requestHash: "a", startedAt },
    ...{ availableAt: new Date(startedAt.getTime() + hour), lapsesAt: new Date(startedAt.getTime() + 3 * hour) },
    ...{ cancelledAt: null, contestedSince: startedAt },
  };
  await prismaTimeLockStore(prisma).startOrFind(lock);
  const emitted = () => prisma.outbox.count({ where: { subject: `cs.v1.signer.${accountId}.time-lock-started` } });
  await run([], []);
  expect([(await prisma.timeLock.findFirst({ where: { accountId } }))?.availableAt, await emitted()]).toEqual([
    lock.availableAt,
    1,
  ]);
  await run([], [], [], ["--went-back"]);
  const again = (await prisma.timeLock.findFirst({ where: { accountId } }))!;
  expect(again.availableAt.getTime()).toBeGreaterThan(Date.now() + hour - 60_000);
  expect(again).toMatchObject({ requestHash: "a", contestedSince: startedAt });
  expect(await emitted()).toBe(2);
});
