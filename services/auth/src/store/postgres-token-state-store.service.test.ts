import { setTimeout as sleep } from "node:timers/promises";
import { unchanging, uuidv4 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import type { PublicKey } from "@countersign/keys";
import { openPostgres, sql } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import type { Keyring } from "../config.ts";
import { listEntries } from "../testing/list-entries.ts";
import { database, now, postgres, prisma, times } from "../testing/store-fixture.ts";
import { tokenStateSince } from "../testing/token-state.ts";
import { createTokenKeys } from "../tokens/token-keys.ts";
import { postgresTokenStateStore } from "./postgres-token-state-store.ts";
import { notifyServices } from "./prisma-freeze-store.ts";
import { prismaTokenKeyStore } from "./prisma-token-key-store.ts";
import { writeTokenState } from "./write-token-state.ts";

/** Returns the end of a session of an account of this bucket. */
const change = (bucket: number) => {
  const accountId = `${uuidv4().slice(0, -2)}${bucket.toString(16).padStart(2, "0")}`;
  return { kind: "session" as const, accountId, subject: uuidv4() };
};

describe("the token state", () => {
  it("misses nothing of a transaction that began early and committed late", async () => {
    const store = postgresTokenStateStore(postgres);
    const written = Promise.withResolvers<void>();
    const commit = Promise.withResolvers<void>();
    const early = change(1);
    const late = postgres.transaction(async (tx) => {
      await writeTokenState(tx, [early]);
      written.resolve();
      await commit.promise;
    });
    await written.promise;
    const [otherBucket, sameBucket] = [change(2), change(1)];
    await postgres.transaction((tx) => writeTokenState(tx, [otherBucket]));
    const waiting = postgres.transaction((tx) => writeTokenState(tx, [sameBucket]));
    // A reader that comes now sees the later transaction and not the earlier one.
    const cursor = await store.readPositions();
    const seen = (await tokenStateSince()).map((entry) => entry.endedSessionId);
    expect(seen).toContain(otherBucket.subject);
    for (const { subject } of [early, sameBucket]) expect(seen).not.toContain(subject);
    commit.resolve();
    await Promise.all([late, waiting]);
    const after = (await tokenStateSince(cursor)).map((entry) => entry.endedSessionId);
    expect(after.toSorted()).toEqual([early.subject, sameBucket.subject].toSorted());
  });

  it("misses nothing of many writers, who write to several buckets and never wait in a circle", {
    timeout: 30_000,
  }, async () => {
    const store = postgresTokenStateStore(postgres);
    const other = openPostgres(database.url, { connections: 10 });
    const written: string[] = [];
    const seen = new Set<string>();
    let since = await store.readPositions();
    const read = async () => {
      const positions = await store.readPositions();
      for (const { endedSessionId } of await tokenStateSince(since)) seen.add(endedSessionId!);
      since = positions;
    };
    const write = async (writer: number) => {
      for (let i = 0; i < 40; i += 1) {
        // Four buckets, in any order.
        const changes = times(2, () => change(Math.floor(Math.random() * 4)));
        await (writer % 2 ? postgres : other).transaction(async (tx) => {
          await writeTokenState(tx, changes);
          await sleep(Math.random() * 4);
        });
        written.push(...changes.map(({ subject }) => subject));
      }
    };
    let isDone = false;
    const writing = Promise.all(times(12, write)).finally(() => {
      isDone = true;
    });
    while (!isDone) await read();
    await writing;
    await read();
    await other.close();
    expect(written.filter((id) => !seen.has(id))).toEqual([]);
    expect(written).toHaveLength(12 * 40 * 2);
  });

  it("gives no position again that a lost commit had: a watcher that has seen it misses nothing", async () => {
    const restored = await prisma.tokenStateHead.findUnique({ where: { bucket: 3 } });
    await postgres.transaction((tx) => writeTokenState(tx, [change(3), change(3)]));
    const seen = await postgresTokenStateStore(postgres).readPositions();
    // A failover to a replica without the last commit; nobody reads before the next one.
    await prisma.tokenStateHead.update({ where: { bucket: 3 }, data: { position: restored!.position } });
    const later = change(3);
    await postgres.transaction((tx) => writeTokenState(tx, [later]));
    const entries = await tokenStateSince(seen);
    expect(entries.map(({ endedSessionId }) => endedSessionId)).toEqual([later.subject]);
  });

  it("gives the rest of a bucket where a page ends within it, and what was written meanwhile", async () => {
    const store = postgresTokenStateStore(postgres);
    const since = await store.readPositions();
    const changes = times(10_100, () => change(7));
    await postgres.transaction((tx) => writeTokenState(tx, changes));
    const first = await store.readPage(since, undefined);
    const later = { ...changes[0]!, until: now };
    await postgres.transaction((tx) => writeTokenState(tx, [later]));
    const rest = await store.readPage(since, first.end);
    const last = await store.readPage(since, rest.end);
    expect(last.end).toBeUndefined();
    const entries = [first, rest, last].flatMap((page) => listEntries(page.entries));
    expect(new Set(entries.map(({ endedSessionId }) => endedSessionId)).size).toBe(10_100);
    expect(entries.findLast(({ endedSessionId }) => endedSessionId === later.subject)!.until).toEqual(now);
    expect(await tokenStateSince(await store.readPositions())).toEqual([]);
  });

  it("reads of the changed buckets what is new only, also where the table has just grown", async () => {
    const fetched = await postgres.transaction(async (tx) => {
      const store = postgresTokenStateStore({ ...postgres, ...tx });
      for (let i = 0; i < 6; i += 1) await store.readPage(await store.readPositions(), undefined);
      await writeTokenState(
        tx,
        times(3_000, () => change(5)),
      );
      const since = await store.readPositions();
      await writeTokenState(tx, [change(5)]);
      const read = async () => {
        const [row] = await tx.query<{ count: bigint }>(sql`
          SELECT idx_tup_fetch + seq_tup_read AS count FROM pg_stat_xact_user_tables WHERE relname = 'token_state_entry'`);
        return Number(row!.count);
      };
      const before = await read();
      expect((await store.readPage(since, undefined)).entries.length).toBeGreaterThan(0);
      return (await read()) - before;
    });
    expect(fetched).toBeLessThan(10);
  });

  it("says of a freeze that was lifted when that was, also to a watcher that begins again", async () => {
    const accountId = uuidv4();
    const ofAccount = async () =>
      (await tokenStateSince()).filter(({ frozenAccountId }) => frozenAccountId === accountId);
    await prisma.$transaction((tx) => notifyServices(tx, accountId, true, now));
    expect(await ofAccount()).toMatchObject([{ active: true, until: undefined }]);
    await prisma.$transaction((tx) => notifyServices(tx, accountId, false, now));
    expect(await ofAccount()).toMatchObject([{ active: false, until: now }]);
    await prisma.$transaction((tx) => notifyServices(tx, accountId, true, now));
    expect(await ofAccount()).toMatchObject([{ active: true, until: undefined }]);
  });

  it("packs a key of each algorithm as services read it", async () => {
    const accountId = uuidv4();
    const keys: PublicKey[] = [
      { algorithm: "ES256", publicKey: "ab".repeat(64) },
      { algorithm: "ES256K", publicKey: "cd".repeat(64) },
      { algorithm: "EdDSA", publicKey: "ef".repeat(32) },
    ];
    const changes = keys.map(({ algorithm, publicKey }) => {
      return { kind: "key", accountId, subject: `${accountId}/${algorithm}/${publicKey}`, until: now } as const;
    });
    await postgres.transaction((tx) => writeTokenState(tx, changes));
    const entries = (await tokenStateSince()).filter(({ blockedKey }) => blockedKey?.accountId === accountId);
    expect(new Set(entries)).toEqual(
      new Set(keys.map((publicKey) => ({ blockedKey: { accountId, publicKey }, active: true, until: now }))),
    );
  });

  it("leaves out no key: one of an algorithm that it does not know is an error", async () => {
    const store = postgresTokenStateStore(postgres);
    const since = await store.readPositions();
    const accountId = uuidv4();
    const subject = `${accountId}/ES512/${"ab".repeat(64)}`;
    await postgres.transaction((tx) => writeTokenState(tx, [{ kind: "key", accountId, subject }]));
    await expect(store.readPage(since, undefined)).rejects.toThrow("invalid hexadecimal digit");
    await prisma.$executeRaw`DELETE FROM token_state_entry WHERE subject = ${subject}`;
  });

  it("two replicas that start at once make one token key, and the next in time", async () => {
    const time = new FixedClock(now);
    const options = {
      store: prismaTokenKeyStore(prisma),
      keyring: unchanging<Keyring>([Buffer.alloc(32, 7)]),
      clock: time,
      periodMs: 30 * 86_400_000,
    };
    const replicas = times(3, () => createTokenKeys(options));
    await Promise.all(replicas.map((keys) => keys.rotate()));
    expect(await prisma.tokenKey.count()).toBe(1);
    const [keys] = replicas;
    const first = (await keys!.signingKey()).kid;
    time.advance(29.5 * 86_400_000);
    await Promise.all(replicas.map((each) => each.rotate()));
    const published = async () => (await keys!.published()).map(({ kid }) => kid);
    expect(await published()).toHaveLength(2);
    expect((await keys!.signingKey()).kid).toBe(first);
    // Its last access tokens are good for a quarter of an hour.
    time.advance(0.5 * 86_400_000 + 30 * 60_000 - 1);
    expect(await published()).toContain(first);
    time.advance(1);
    expect(await published()).not.toContain(first);
    expect((await keys!.signingKey()).kid).not.toBe(first);
    for (const jwk of await keys!.published()) expect(jwk).not.toHaveProperty("d");
    expect(await keys!.verificationKey(first)).toBeDefined();
    time.advance(31 * 86_400_000);
    expect(await keys!.verificationKey(first)).toBeUndefined();
    const wrong = createTokenKeys({ ...options, keyring: unchanging<Keyring>([Buffer.alloc(32, 8)]) });
    await expect(wrong.signingKey()).rejects.toThrow();
  });
});
