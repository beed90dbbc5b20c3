import { uuidv4, uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { queriesIn, sql } from "@countersign/postgres";
import { describe, expect, it } from "vitest";
import { decideSignUp } from "../domain/sign-up/sign-up.ts";
import { type LeaseSignUp, SIGN_UP_STEPS, type SignUpStep } from "../domain/sign-up/sign-up-saga.ts";
import { commandOf } from "../testing/sign-up-command.ts";
import { clock, eventsOf, now, person, postgres, prisma, times } from "../testing/store-fixture.ts";
import { postgresSignUpStore, readOpenSignUps } from "./postgres-sign-up-store.ts";

describe("leases of sign-ups", () => {
  const store = () => postgresSignUpStore(prisma, postgres);
  const lease = (command: LeaseSignUp) => store().lease(command, decideSignUp);

  it("ten at once of one identity and key are one account", async () => {
    const command = commandOf(person());
    const leased = await Promise.all(times(10, () => lease({ ...command, newAccountId: uuidv7(clock) })));
    const sagas = leased.map((each) => each.kind === "drive" && each.saga);
    expect(new Set(sagas.map((saga) => (saga ? saga.accountId : undefined))).size).toBe(1);
    expect(sagas.every((saga) => saga && saga.deviceId === command.deviceId)).toBe(true);
    expect(sagas.every((saga) => saga && saga.sessionId === command.sessionId)).toBe(true);
  });

  it("of two keys at once one wins", async () => {
    const profile = person();
    const leased = await Promise.all(times(6, () => lease(commandOf(profile))));
    expect(leased.filter(({ kind }) => kind === "drive")).toHaveLength(1);
    expect(leased.filter(({ kind }) => kind === "account-exists")).toHaveLength(5);
  });

  it("an unfinished one is resumed with both of its keys, and with no other beside its user key", async () => {
    const profile = person();
    const command = commandOf(profile, { deviceKey: generateKeyPair().publicKey });
    const first = await lease(command);
    expect((await lease({ ...command, deviceKey: generateKeyPair().publicKey })).kind).toBe("account-exists");
    expect((await lease({ ...command, deviceKey: command.accountKey })).kind).toBe("account-exists");
    expect(await lease(command)).toEqual(first);
  });

  it("a mark that is not the last one is written once, together with others", async () => {
    const leased = await Promise.all(times(4, () => lease(commandOf(person()))));
    const sagas = leased.map((each) => (each.kind === "drive" ? each.saga : expect.unreachable()));
    const alone: unknown[] = [];
    const counting: typeof postgres = {
      ...postgres,
      execute: (statement) => {
        alone.push(statement);
        return postgres.execute(statement);
      },
    };
    const counted = postgresSignUpStore(prisma, counting);
    await Promise.all(sagas.map((saga) => counted.mark(saga, ["RegisterKey", "RegisterDevice"], now)));
    expect(alone).toEqual([]);
    await Promise.all(sagas.map((saga) => counted.mark(saga, ["DeployAccount"], now)));
    await Promise.all(sagas.map((saga) => counted.mark(saga, SIGN_UP_STEPS, now)));
    expect(alone).toEqual([]);
    for (const { accountId } of sagas) expect(await eventsOf(accountId, "sign-up-completed")).toBe(1);
  });

  it("unfinished ones are counted by their state, until they are done or given up", async () => {
    const open = async () => {
      const rows = await readOpenSignUps(postgres)(["flow-counted", "flow-empty"]);
      expect(rows).toHaveLength(4);
      expect(rows.every(({ oldest, count }) => (count === 0 ? oldest === 0 : oldest >= 0))).toBe(true);
      return rows.filter(({ count }) => count > 0).map(({ chain, state, count }) => [chain, state, count]);
    };
    expect(await open()).toEqual([]);
    const drive = async () => {
      const leased = await lease(commandOf(person(), { chainName: "flow-counted" }));
      return leased.kind === "drive" ? leased.saga : expect.unreachable();
    };
    const [one, other] = [await drive(), await drive()];
    expect(await open()).toEqual([["flow-counted", "deploying", 2]]);
    await store().mark(one, ["DeployAccount"], now);
    const states = await open();
    expect(states).toContainEqual(["flow-counted", "deploying", 1]);
    expect(states).toContainEqual(["flow-counted", "registering", 1]);
    await store().mark(one, SIGN_UP_STEPS, now);
    await store().giveUp(other);
    expect(await open()).toEqual([]);
  });

  it("unfinished ones are found without an index over the finished ones, which are as many as accounts", async () => {
    await prisma.$transaction(async (tx) => {
      const queries = queriesIn(tx);
      const scans = () =>
        queries.query(sql`
          SELECT indexrelid::regclass::text AS name, pg_stat_get_xact_numscans(indexrelid) AS count FROM pg_index
          WHERE indrelid = 'sign_up'::regclass AND indpred IS NULL`);
      await queries.execute(sql`SET LOCAL enable_seqscan = off`);
      const before = await scans();
      await readOpenSignUps({ ...postgres, ...queries })(["flow-emulator"]);
      await postgresSignUpStore(tx as typeof prisma, postgres).leaseAbandoned(new Date(0), now, 50);
      expect(await scans()).toEqual(before);
    });
  });

  it("those of one creation are marked together, also twice or in parts, and complete once each", async () => {
    const leased = await Promise.all(times(6, () => lease(commandOf(person()))));
    const sagas = leased.map((each) => (each.kind === "drive" ? each.saga : expect.unreachable()));
    const [inParts, ...whole] = sagas;
    const marks = SIGN_UP_STEPS.map((step) => [inParts!, [step]] as const);
    // Of two replicas, which lock the same rows in another order.
    const ofReplica = (saga: (typeof sagas)[number]) => [saga, SIGN_UP_STEPS] as const;
    const replicas = [[...marks, ...whole.map(ofReplica), ...whole.map(ofReplica)], whole.toReversed().map(ofReplica)];
    let statements = 0;
    const counting: typeof postgres = {
      ...postgres,
      query: (statement) => {
        statements += 1;
        return postgres.query(statement);
      },
    };
    const stores = replicas.map(() => postgresSignUpStore(prisma, counting));
    const all = replicas.flatMap((each, i) => each.map(([saga, steps]) => stores[i]!.mark(saga, steps, now)));
    await Promise.all(all);
    expect(statements).toBe(2);
    for (const { accountId } of sagas) expect(await eventsOf(accountId, "sign-up-completed")).toBe(1);
    const ids = sagas.map(({ accountId }) => accountId);
    expect(await prisma.signUp.count({ where: { accountId: { in: ids }, completedAt: now } })).toBe(6);
  });

  it.each(["alone", "together"])(
    "marked %s is complete with its last step, in any order, and no other chain's",
    async (how) => {
      const replica = postgresSignUpStore(prisma, { ...postgres, isDistributed: async () => how === "alone" });
      const further = async () => {
        const command = commandOf(person());
        const { profile, newAccountId: accountId, accountKey, deviceKey } = command;
        await lease(command);
        const session = { accountId, accountKey, deviceKey };
        const leased = await lease(commandOf(profile, { chainName: "flow-other", accountKey, session }));
        return leased.kind === "drive" ? leased.saga : expect.unreachable();
      };
      for (const last of SIGN_UP_STEPS) {
        const sagas = await Promise.all(times(3, further));
        const where = { accountId: { in: sagas.map(({ accountId }) => accountId) } };
        const complete = async () => {
          const rows = await prisma.signUp.findMany({ where: { ...where, completedAt: now } });
          return rows.map(({ chainName }) => chainName);
        };
        const mark = (step: SignUpStep) => Promise.all(sagas.map((saga) => replica.mark(saga, [step], now)));
        for (const step of SIGN_UP_STEPS) if (step !== last) await mark(step);
        expect(await complete()).toEqual([]);
        await mark(last);
        expect(await complete()).toEqual(times(3, () => "flow-other"));
        const untouched = { deployedAt: null, keyRegisteredAt: null, deviceRegisteredAt: null };
        expect(await prisma.signUp.count({ where: { ...where, ...untouched } })).toBe(3);
      }
    },
  );

  it("one that another transaction has locked is marked after it, and holds up no other", async () => {
    const leased = await Promise.all(times(3, () => lease(commandOf(person()))));
    const [locked, ...others] = leased.map((each) => (each.kind === "drive" ? each.saga : expect.unreachable()));
    const all = store();
    const mark = (saga: (typeof others)[number]) => all.mark(saga, SIGN_UP_STEPS, now);
    let marking: Promise<void> | undefined;
    await postgres.transaction(async (tx) => {
      await tx.query(sql`SELECT FROM sign_up WHERE account_id = ${locked!.accountId}::uuid FOR UPDATE`);
      marking = mark(locked!);
      await Promise.all(others.map(mark));
      for (const { accountId } of others) expect(await eventsOf(accountId, "sign-up-completed")).toBe(1);
      expect(await eventsOf(locked!.accountId, "sign-up-completed")).toBe(0);
    });
    await marking;
    expect(await eventsOf(locked!.accountId, "sign-up-completed")).toBe(1);
  });

  it("an Idempotency-Key replays a finished sign-up, and only for the same body", async () => {
    const command = commandOf(person(), { idempotency: { id: uuidv4(), fingerprint: "f1" } });
    const first = await lease(command);
    if (first.kind !== "drive") throw new Error(first.kind);
    for (const step of SIGN_UP_STEPS)
      await Promise.all([store().mark(first.saga, [step], now), store().mark(first.saga, [step], now)]);
    expect(await eventsOf(first.saga.accountId, "sign-up-completed")).toBe(1);
    expect((await lease(command)).kind).toBe("replay");
    const otherBody = { ...command, idempotency: { ...command.idempotency!, fingerprint: "f2" } };
    expect((await lease(otherBody)).kind).toBe("idempotency-key-reused");
    expect((await lease({ ...command, idempotency: undefined })).kind).toBe("account-exists");
    expect((await lease({ ...command, idempotency: { id: uuidv4(), fingerprint: "f1" } })).kind).toBe("account-exists");
  });

  it("a first request that is refused leaves no identity behind, and all others", async () => {
    const idempotency = { id: uuidv4(), fingerprint: "f1" };
    const profile = person();
    const others = [person(), { ...profile, issuer: "https://other.example" }];
    for (const other of others) await lease(commandOf(other, { idempotency }));
    const refused = await lease(commandOf(profile, { idempotency: { ...idempotency, fingerprint: "f2" } }));
    expect(refused.kind).toBe("idempotency-key-reused");
    expect(await store().accountOf(profile.issuer, profile.subject)).toBeUndefined();
    for (const { issuer, subject } of others) expect(await store().accountOf(issuer, subject)).toBeDefined();
    expect((await lease(commandOf(profile))).kind).toBe("drive");
  });

  it("the same subject of two issuers is two persons", async () => {
    const profile = person();
    const commands = [profile, { ...profile, issuer: "https://other.example" }].map((each) => commandOf(each));
    for (const command of [...commands, ...commands]) {
      const saga = expect.objectContaining({ accountId: command.newAccountId });
      expect(await lease(command)).toEqual({ kind: "drive", saga });
    }
    const one = store();
    for (const { profile: each, newAccountId } of [...commands, ...commands])
      expect(await one.accountOf(each.issuer, each.subject)).toBe(newAccountId);
  });

  it("is of one account and chain, and so is its end", async () => {
    const profile = person();
    const [command, ofAnother] = [commandOf(profile), commandOf(person())];
    const { newAccountId: accountId, accountKey, deviceKey } = command;
    const session = { accountId, accountKey, deviceKey };
    const further = commandOf(profile, { chainName: "flow-other", accountKey, session });
    for (const each of [command, ofAnother, further]) await lease(each);
    const leaseUntil = new Date(now.getTime() + 77_000);
    const leasedUntil = async () => (await prisma.signUp.findMany({ where: { leaseUntil } })).length;
    const resumed = await lease({ ...command, leaseUntil });
    expect(await leasedUntil()).toBe(1);
    await lease({ ...further, leaseUntil });
    await store().giveUp(resumed.kind === "drive" ? resumed.saga : expect.unreachable());
    expect(await leasedUntil()).toBe(1);
  });

  it("two runners never lease the same saga, and one that is finished or given up is left alone", async () => {
    await prisma.signUp.updateMany({ data: { leaseUntil: new Date(now.getTime() + 1_000_000) } });
    const requested = await Promise.all(
      times(8, () => lease(commandOf(person(), { leaseUntil: new Date(now.getTime() - 1) }))),
    );
    const [first, second] = requested.map((each) => (each.kind === "drive" ? each.saga : expect.unreachable()));
    await store().giveUp(first!);
    await store().mark(second!, SIGN_UP_STEPS, now);
    const until = new Date(now.getTime() + 30_000);
    const leased = (await Promise.all(times(4, () => store().leaseAbandoned(now, until, 3)))).flat();
    expect(leased).toHaveLength(6);
    expect(new Set(leased.map(({ accountId }) => accountId)).size).toBe(6);
  });

  it("a late giving up by a first request leaves the lease of a second request alone", async () => {
    const command = commandOf(person(), { leaseUntil: new Date(now.getTime() - 2) });
    const first = await lease(command);
    const second = await lease({ ...command, leaseUntil: new Date(now.getTime() - 1) });
    if (first.kind !== "drive" || second.kind !== "drive") throw new Error("not driven");
    const runnerFinds = async () =>
      (await store().leaseAbandoned(now, new Date(now.getTime() - 1), 50)).some(
        ({ accountId }) => accountId === first.saga.accountId,
      );
    await store().giveUp(first.saga);
    expect(await runnerFinds()).toBe(true);
    await store().giveUp(second.saga);
    expect(await runnerFinds()).toBe(false);
  });
});
