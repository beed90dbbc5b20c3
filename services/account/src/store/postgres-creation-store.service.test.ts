import { uuidv4, uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { type Postgres, type Queries, sql } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import type { Creation } from "../domain/creations/creation.ts";
import type { SignedCreation } from "../domain/ports.ts";
import { accounts, chainName, clock, creations, lease, newDeployment, stateOf } from "../testing/deployments.ts";
import { postgres, prisma } from "../testing/store-fixture.ts";
import { postgresChainReadings } from "./chain-readings.ts";
import { ensureProposalKeys, postgresCreationStore } from "./postgres-creation-store.ts";

const queue = (count: number, at = clock.now()) =>
  Promise.all(Array.from({ length: count }, () => accounts().queue(newDeployment(), at)));
const someSigned = (keyId: number): SignedCreation => ({
  transaction: {
    script: "s",
    arguments: [],
    referenceBlockId: "ab".repeat(32),
    gasLimit: 9999n,
    proposalKey: { address: "e03daebed8ca0615", keyId, sequenceNumber: 7n },
    payer: "e03daebed8ca0615",
    authorizers: ["e03daebed8ca0615"],
    payloadSignatures: [],
    envelopeSignatures: [],
  },
  transactionId: "t1",
  sequenceNumber: 7n,
  referenceHeight: 9n,
  serverKeys: ["a", "b"],
  serverKeyVersion: 2,
});

describe("creations", () => {
  it("25 deployments and three runners at once: no deployment and no key twice", async () => {
    await queue(25);
    const batches = await Promise.all(Array.from({ length: 4 }, () => creations().assign(chainName, lease())));
    const again = await Promise.all(Array.from({ length: 4 }, () => creations().assign(chainName, lease())));
    const all = [...batches, ...again].filter((batch) => batch !== undefined);
    const ids = all.flatMap(({ accountIds }) => accountIds);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toHaveLength(25);
    expect(new Set(all.map(({ keyIndex }) => keyIndex)).size).toBe(all.length);
    expect(Math.max(...all.map(({ accountIds }) => accountIds.length))).toBeLessThanOrEqual(10);
    for (const batch of all) expect(batch.userKeys).toHaveLength(batch.accountIds.length);
  });

  it("an assignment reads no more deployments where many wait", async () => {
    await postgres.execute(sql`
      WITH added AS (
        INSERT INTO account (id, profile_image_url, created_at, updated_at)
        SELECT gen_random_uuid(), '', now(), now() FROM generate_series(1, 5000) RETURNING id)
      INSERT INTO deployment (account_id, chain_name, user_key_algorithm, user_key, state, batch_limit, queued_at)
      SELECT id, ${chainName}, 'ES256', repeat('ab', 64), 'queued', 10, now() FROM added`);
    await postgres.execute(sql`ANALYZE deployment`);
    const read = async (tx: Queries) => {
      const [row] = await tx.query<{ count: bigint }>(sql`
        SELECT idx_tup_fetch + seq_tup_read AS count FROM pg_stat_xact_user_tables WHERE relname = 'deployment'`);
      return Number(row!.count);
    };
    const fetched = await postgres.transaction(async (tx) => {
      const inTransaction: Postgres = { ...postgres, ...tx, transaction: (work) => work(tx) };
      const store = postgresCreationStore(inTransaction, { transactionUrl: () => "" });
      const before = await read(tx);
      expect((await store.assign(chainName, lease()))?.accountIds).toHaveLength(10);
      return (await read(tx)) - before;
    });
    expect(fetched).toBeLessThan(100);
  });

  it("queued ones are found without an index over the ended ones, which are as many as accounts", async () => {
    await postgres.transaction(async (tx) => {
      const scans = () =>
        tx.query(sql`
          SELECT indexrelid::regclass::text AS name, pg_stat_get_xact_numscans(indexrelid) AS count FROM pg_index
          WHERE indrelid = 'deployment'::regclass AND indpred IS NULL`);
      await tx.execute(sql`SET LOCAL enable_seqscan = off`);
      const before = await scans();
      await postgresChainReadings({ ...postgres, ...tx }).openSagas("flow-empty");
      await postgresCreationStore({ ...postgres, ...tx }, { transactionUrl: () => "" }).assign("flow-empty", lease());
      expect(await scans()).toEqual(before);
    });
  });

  const assigned = async (count: number): Promise<{ creation: Creation; owner: string }> => {
    await queue(count);
    const owner = uuidv4();
    return { creation: (await creations().assign(chainName, lease(owner)))!, owner };
  };

  it("propose with a free key of their own chain that is not rotated out", async () => {
    await ensureProposalKeys(prisma, "flow-other", 5);
    const { creation } = await assigned(1);
    expect(creation.keyIndex).toBe(0);
    await queue(1);
    const from = (first: number) =>
      postgresCreationStore(postgres, { transactionUrl: () => "", firstKeyId: () => first }).assign(chainName, lease());
    expect(await from(4)).toBeUndefined();
    expect(await from(2)).toMatchObject({ chainName, keyIndex: 2 });
  });

  it("end once, sealed or failed, and change no other one", async () => {
    const [one, other] = [await assigned(1), await assigned(1)];
    const { id, accountIds, keyIndex } = one.creation;
    const [accountId] = accountIds;
    const created = [{ accountId: accountId!, address: "00000000000000b0", evmAddress: "0xb0", serverKeyIndex: 0 }];
    const seal = () => creations().sealed(id, one.owner, created, { evmChainId: 646, now: clock.now() });
    expect(await seal()).toBe(false);
    expect(await creations().replace(id, one.owner)).toBe(false);
    expect(await creations().signed(id, uuidv4(), someSigned(keyIndex))).toBe(false);
    expect(await creations().signed(id, one.owner, someSigned(keyIndex))).toBe(true);
    expect(await creations().replace(id, uuidv4())).toBe(false);
    const ends = await Promise.all([seal(), creations().failed(id, one.owner, { failed: true }, "")]);
    expect(ends.toSorted()).toEqual([false, true]);
    expect(await stateOf(accountId!)).toBe(ends[0] ? "deployed" : "failed");

    const [otherAccount] = other.creation.accountIds;
    expect(await stateOf(otherAccount!)).toBe("assigned");
    const row = await prisma.creation.findUnique({ where: { id: other.creation.id } });
    expect(row).toMatchObject({ state: "assigned", leaseOwner: other.owner });
    const busy = await prisma.proposalKey.findMany({ where: { creationId: { not: null } } });
    expect(busy).toMatchObject([{ creationId: other.creation.id }]);
    expect(await creations().signed(other.creation.id, other.owner, someSigned(1))).toBe(true);
    expect(await creations().failed(other.creation.id, other.owner, { requeueWithLimit: 10 }, "used")).toBe(true);
    expect(await stateOf(otherAccount!)).toBe("queued");
  });

  it("are taken over when the lease has lapsed, by one, and the old owner can do nothing more", async () => {
    const { creation, owner } = await assigned(3);
    const elsewhere = { ...newDeployment(), accountId: creation.accountIds[0]!, chainName: "flow-other" };
    await accounts().queue(elsewhere, clock.now());
    expect(await creations().takeOver(lease())).toBeUndefined();
    const later = new Date(clock.now().getTime() + 16_000);
    const heir = uuidv4();
    const taken = await Promise.all([
      creations().takeOver(lease(heir, later)),
      creations().takeOver(lease(heir, later)),
    ]);
    expect(taken.filter((each) => each !== undefined)).toMatchObject([
      { id: creation.id, userKeys: creation.userKeys },
    ]);
    expect(await creations().moveLeaseEnd(creation.id, lease(owner))).toBe(false);
    expect(await creations().failed(creation.id, owner, { failed: true }, "")).toBe(false);
    expect(await creations().sealed(creation.id, owner, [], { evmChainId: 646, now: clock.now() })).toBe(false);
    expect(await stateOf(creation.accountIds[0]!)).toBe("assigned");

    const end = { failed: true } as const;
    const ending: Postgres = {
      ...postgres,
      async query(statement) {
        const rows = await postgres.query<never>(statement);
        if (statement.text.includes("SELECT id FROM creation")) await creations().failed(creation.id, heir, end, "");
        return rows;
      },
    };
    const lapsed = new Date(later.getTime() + 16_000);
    expect(
      await postgresCreationStore(ending, { transactionUrl: () => "" }).takeOver(lease(heir, lapsed)),
    ).toBeUndefined();
    expect(await stateOf(creation.accountIds[0]!)).toBe("failed");
  });

  it("are taken over in turn: those that fail each time, another chain's for example, hold up none", async () => {
    const owner = uuidv4();
    await prisma.creation.createMany({
      data: Array.from({ length: 8 }, (_, keyIndex) => ({
        ...{ id: uuidv7(clock), chainName: "flow-other", keyIndex, accountIds: [], state: "assigned" },
        ...{ leaseOwner: owner, leaseUntil: clock.now(), createdAt: clock.now() },
      })),
    });
    const later = (seconds: number) => new Date(clock.now().getTime() + seconds * 1_000);
    await queue(1);
    const younger = (await creations().assign(chainName, { ...lease(owner), now: later(1), until: later(1) }))!;
    await prisma.creation.update({ where: { id: younger.id }, data: { createdAt: later(1) } });
    const taken = new Set<string>();
    // Of the four that wait longest each turn takes a random one.
    for (let second = 2; second < 60 && !taken.has(younger.id); second++) {
      for (let left = 2; left > 0; left--) {
        const { id } = (await creations().takeOver(lease(owner, later(second))))!;
        await creations().moveLeaseEnd(id, { owner, now: later(second), until: later(second + 0.9) });
        taken.add(id);
      }
    }
    expect(taken).toContain(younger.id);
  });

  it("halves of a failed batch are not joined by others, and one that fails alone is asked for again", async () => {
    const { creation, owner } = await assigned(3);
    expect(await creations().failed(creation.id, owner, { requeueWithLimit: 2 }, "bad key")).toBe(true);
    await queue(3, new Date(clock.now().getTime() - 1_000));
    const next = async () => (await creations().assign(chainName, lease(owner)))!;
    const halves = [await next(), await next()];
    expect(halves.map(({ accountIds }) => accountIds.length)).toEqual([2, 1]);
    // Another reason, which is not the batch's, does not join them again.
    expect(await creations().failed(halves[1]!.id, owner, { requeueWithLimit: 10 }, "number used")).toBe(true);
    expect([(await next()).accountIds.length, (await next()).accountIds.length]).toEqual([1, 3]);

    const alone = await assigned(1);
    const [accountId] = alone.creation.accountIds;
    await creations().failed(alone.creation.id, alone.owner, { failed: true }, "bad key");
    const found = await accounts().find(accountId!, chainName);
    const row = await prisma.deployment.findFirstOrThrow({ where: { accountId: accountId! } });
    expect(row).toMatchObject({ state: "failed", lastError: "bad key" });
    const { userKey } = found!.deployment!;
    const unchanged = { accountId: accountId!, chainName, userKey, profileImageUrl: "", keepFailed: true };
    const kept = await accounts().queue(unchanged, clock.now());
    expect(kept?.deployment?.state).toBe("failed");
    const byOther = { ...unchanged, userKey: generateKeyPair().publicKey, keepFailed: false };
    expect((await accounts().queue(byOther, clock.now()))?.deployment).toMatchObject({ state: "failed", userKey });
    await accounts().queue({ accountId: accountId!, chainName, userKey, profileImageUrl: "" }, clock.now());
    expect(await prisma.deployment.findFirst({ where: { accountId: accountId! } })).toMatchObject({
      state: "queued",
      creationId: null,
    });
  });

  it("once signed keep bytes and sequence number; sealed give addresses, events and the key back", async () => {
    const { creation, owner } = await assigned(2);
    const ofCreation = { creationId: creation.id };
    await prisma.deployment.updateMany({ where: ofCreation, data: { traceparent: "t" } });
    const traced = () => prisma.deployment.count({ where: { ...ofCreation, traceparent: "t" } });
    const signed = someSigned(creation.keyIndex);
    const elsewhere = { ...newDeployment(), accountId: creation.accountIds[0]!, chainName: "flow-other" };
    await accounts().queue(elsewhere, clock.now());
    expect(await creations().signed(creation.id, owner, signed)).toBe(true);
    expect(await creations().signed(creation.id, owner, signed)).toBe(false);
    const later = new Date(clock.now().getTime() + 60_000);
    const heir = uuidv4();
    expect(await creations().takeOver(lease(heir, later))).toMatchObject({ state: "signed", ...signed });

    const created = creation.accountIds.map((accountId, i) => ({
      accountId,
      address: `00000000000000a${i}`,
      evmAddress: `0x${"0".repeat(38)}a${i}`,
      serverKeyIndex: 0,
    }));
    const chain = { evmChainId: 646, now: clock.now() };
    expect(await creations().sealed(creation.id, heir, created, chain)).toBe(true);
    expect(await creations().sealed(creation.id, heir, created, chain)).toBe(false);
    const [accountId] = creation.accountIds;
    const found = await accounts().find(accountId!, chainName);
    expect(found).toMatchObject({ deployment: { state: "deployed", transactionId: "t1" } });
    expect(found?.account.addresses.map(({ chainType }) => chainType)).toEqual(["cadence", "evm"]);
    expect(await traced()).toBe(0);
    const store = accounts();
    const both = await Promise.all(creation.accountIds.map((each) => store.find(each, chainName)));
    expect(both.map((each) => each?.account.addresses[0]?.address)).toEqual(created.map(({ address }) => address));
    expect(await prisma.outbox.count({ where: { subject: `cs.v1.account.${accountId}.account-deployed` } })).toBe(1);
    expect((await accounts().find(accountId!, "flow-other"))?.deployment?.state).toBe("queued");
    expect(await prisma.proposalKey.count({ where: { creationId: creation.id } })).toBe(0);

    const next = await assigned(1);
    expect(next.creation).toMatchObject({ keyIndex: creation.keyIndex, sequenceNumber: 8n });
    const taken = await creations().takeOver(lease(heir, later));
    expect(taken).toMatchObject({ id: next.creation.id, state: "assigned", sequenceNumber: 8n });
    await creations().failed(next.creation.id, heir, { requeueWithLimit: 10 }, "a wrong sequence number");
    await queue(2);
    const again = (await creations().assign(chainName, lease()))!;
    expect([again.keyIndex, again.sequenceNumber]).toEqual([creation.keyIndex, undefined]);
    expect(again.accountIds).toHaveLength(3);
  });
});
