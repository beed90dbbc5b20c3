import { strict as assert } from "node:assert";
import { isAppError, uuidv4, uuidv7, type VerifiedToken } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair } from "@countersign/keys/node";
import { openPostgres, type Postgres } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import fc from "fast-check";
import { afterAll, beforeAll, it } from "vitest";
import { freezeAccount, unfreezeAccount } from "../domain/freeze/freeze-account.ts";
import { refreshToken } from "../domain/sessions/refresh-token.ts";
import { ACCESS_TOKEN_MS, beginSession, type Session } from "../domain/sessions/session.ts";
import { sampleDevice } from "../testing/sample-device.ts";
import { database, postgres, prisma } from "../testing/store-fixture.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { PrismaClient } from "./generated/client.ts";
import { postgresChallengeStore } from "./postgres-challenge-store.ts";
import { postgresSessionStore } from "./postgres-session-store.ts";
import { prismaAccessStore } from "./prisma-access-store.ts";
import { prismaAdminStore } from "./prisma-admin-store.ts";
import { prismaFreezeStore } from "./prisma-freeze-store.ts";
import { prismaTwoFactorSignInStore } from "./prisma-two-factor-sign-in-store.ts";

const APPS = ["one", "two"].map((appId) => ({ appId, appName: "" }));
const TIME_LOCKS = { deviceMs: 60_000, recoveryMs: 300_000 };
const requestId = "";

type Replica = ReturnType<typeof replicaOf>;

/** One process of auth, with connections of its own. */
function replicaOf(on: Postgres, client: PrismaClient) {
  return {
    challenges: postgresChallengeStore(on),
    sessions: postgresSessionStore(client, on),
    access: prismaAccessStore(client),
    freezes: prismaFreezeStore(client),
    signIns: prismaTwoFactorSignInStore(client),
    adminOf: (clock: FixedClock) => prismaAdminStore(client, clock),
    tidy: deleteExpiredRows(on),
  };
}

let replicas: Replica[];
let close: () => Promise<void>;
beforeAll(() => {
  const other = openPostgres(database.url, { connections: 10 });
  const client = new PrismaClient({ adapter: other.adapter });
  replicas = [replicaOf(postgres, prisma), replicaOf(other, client)];
  close = async () => {
    await client.$disconnect();
    await other.close();
  };
});
afterAll(() => close());

/** An action of one of the account's devices, at one of the replicas. */
interface Action {
  readonly kind: keyof typeof ACTIONS;
  readonly replica: number;
  readonly device: number;
  /** The app, or the token or session: the index counts from the newest. */
  readonly target: number;
}

/** One account. */
class World {
  readonly clock = new FixedClock("2026-11-20T10:00:00Z");
  readonly accountId = uuidv7(this.clock);
  readonly devices = Array.from({ length: 3 }, () => generateKeyPair().publicKey);
  /** Refresh tokens in the order in which they were issued, and what each was exchanged for. */
  readonly tokens: { sessionId: string; refreshId: string }[] = [];
  readonly successors = new Map<string, string>();
  readonly removed = new Set<number>();
  isOver = false;

  issued({ id: sessionId, refreshId }: Session): void {
    this.tokens.push({ sessionId, refreshId });
  }

  sessionOf({ device, target }: Action): Session {
    const key = this.devices[device]!;
    const ids = { id: uuidv7(this.clock), refreshId: uuidv4(), accountId: this.accountId };
    const start = { ...ids, app: APPS[target % 2]!, deviceKey: key, accountKey: key, authTime: undefined };
    return beginSession(start, this.clock.now());
  }

  tokenOf = ({ device }: Action) =>
    ({ accountId: this.accountId, deviceKey: this.devices[device], scope: "full" }) as VerifiedToken;
}

const by = { person: "ada", reason: "a random test" };
const newest = <T>(items: readonly T[], index: number): T | undefined => items[items.length - 1 - index];

const ACTIONS = {
  /** Answers a challenge at both replicas at once. */
  async "sign in"(world: World, action: Action) {
    const { accountId, clock } = world;
    const mayBegin = !world.isOver && !world.removed.has(action.device);
    const key = world.devices[action.device]!;
    const data = uuidv4().replaceAll("-", "");
    const expiresAt = new Date(clock.now().getTime() + 1000);
    const of = {
      accountId,
      app: APPS[0]!,
      signer: key,
      authTime: undefined,
      key: undefined,
      chainName: "c",
      expiresAt,
    };
    await replicas[0]!.challenges.insert({ ...of, data, type: "device-key" });
    const answers = replicas.map(async ({ challenges }) => {
      const session = world.sessionOf(action);
      if (!(await challenges.succeed(data, session, requestId))) return false;
      world.issued(session);
      return true;
    });
    const begun = (await Promise.allSettled(answers)).filter((each) => each.status === "fulfilled" && each.value);
    assert(begun.length <= 1, "a challenge succeeded twice");
    if (begun.length > 0) assert(mayBegin, "a removed device signed in");
    else await Promise.all(answers);
  },
  async refresh(world: World, { replica, target }: Action) {
    const token = newest(world.tokens, target);
    if (!token) return;
    const { refreshId: used, sessionId } = token;
    await refreshToken({
      sessions: replicas[replica]!.sessions,
      clock: world.clock,
      read: async () => ({ accountId: world.accountId, ...token }),
      async issue(session) {
        const before = world.successors.get(used) ?? session.refreshId;
        assert.equal(session.refreshId, before, "one token has two successors");
        assert.notEqual(session.refreshId, used);
        world.successors.set(used, session.refreshId);
        world.issued(session);
        return { accessToken: sessionId, refreshToken: "" };
      },
    })("token", new Uint8Array(), requestId);
  },
  async end(world: World, { replica, target }: Action) {
    const id = newest(world.tokens, target)?.sessionId;
    if (id) await replicas[replica]!.sessions.end(world.accountId, { id }, "signed-out", world.clock.now(), requestId);
  },
  async "end others"(world: World, { replica, target }: Action) {
    const allBut = newest(world.tokens, target)?.sessionId;
    const now = world.clock.now();
    if (allBut) await replicas[replica]!.sessions.end(world.accountId, { allBut }, "ended-by-user", now, requestId);
  },
  async remove(world: World, { replica, device }: Action) {
    const of = { accountId: world.accountId, deviceKey: world.devices[device]!, removedAt: world.clock.now() };
    await replicas[replica]!.access.cutOff({ ...of, requestId });
    world.removed.add(device);
  },
  async revoke(world: World, { replica, device }: Action) {
    const of = { accountId: world.accountId, accountKey: world.devices[device]!, revokedAt: world.clock.now() };
    await replicas[replica]!.access.endRevoked({ ...of, requestId });
  },
  async freeze(world: World, action: Action) {
    const { freezes } = replicas[action.replica]!;
    await freezeAccount({ freezes, clock: world.clock })(world.tokenOf(action), requestId);
  },
  async unfreeze(world: World, action: Action) {
    const { freezes } = replicas[action.replica]!;
    await unfreezeAccount({ freezes, clock: world.clock, timeLocks: TIME_LOCKS })(world.tokenOf(action), requestId);
  },
  /** Enrolls the device by a request that two calls finish at once. */
  async enroll(world: World, action: Action) {
    const { clock } = world;
    const now = clock.now();
    const { id: _id, refreshId: _refresh, ...session } = world.sessionOf(action);
    const id = uuidv7(clock);
    const { signIns } = replicas[action.replica]!;
    const asked = { ...session, id, chainName: "c", userKeyType: "device" as const, device: sampleDevice };
    const { scope: _scope, previousRefreshId: _previous, rotatedAt: _rotated, proofRequired: _proof, ...rest } = asked;
    const { lastUsedAt: _used, refreshExpiresAt: _expires, ...row } = rest;
    const open = { tokenId: uuidv4(), enrolledAt: undefined, finishedAt: undefined };
    const signIn = { ...row, ...open, expiresAt: new Date(now.getTime() + 300_000) };
    await signIns.begin(signIn, undefined);
    const transaction = { id: "ab".repeat(32), chainName: "c", refUrl: "" };
    await signIns.recordAddition(signIn, transaction, { at: now, requestId });
    const finishing = replicas.map(async (each) => {
      const own = { ...world.sessionOf(action), app: signIn.app };
      if (await each.signIns.finish(id, own, now, requestId)) world.issued(own);
      else return false;
      return true;
    });
    const finished = await Promise.allSettled(finishing);
    assert(finished.filter((each) => each.status === "fulfilled" && each.value).length <= 1, "finished twice");
    await Promise.all(finishing);
  },
  async "end all"(world: World, { replica }: Action) {
    await replicas[replica]!.adminOf(world.clock).endSessions(by, world.accountId);
  },
  async tidy(world: World, { replica }: Action) {
    await replicas[replica]!.tidy(world.clock.now());
  },
  async leave(world: World, { replica }: Action) {
    const { accountId, clock } = world;
    await replicas[replica]!.access.leave({ accountId, leftAt: clock.now(), requestId });
    world.isOver = true;
  },
  async erase(world: World, { replica }: Action) {
    await replicas[replica]!.adminOf(world.clock).erase(by, world.accountId);
    world.isOver = true;
  },
};

const REFUSALS =
  /^(PleaseRegisterKey|SessionEnded|RefreshTokenReused|TimeLockRequired|UnfreezeNotAllowed|AccountFrozen|AccountLeft|AccountNotFound)$/;

async function perform(world: World, action: Action): Promise<void> {
  try {
    await ACTIONS[action.kind](world, action);
  } catch (error) {
    assert(isAppError(error), error as Error);
    assert.match(error.reason, REFUSALS);
  }
}

/** Counts texts. */
const tally = (items: readonly string[]) => Map.groupBy(items, (each) => each);

/** Checks that rows, events and token state say the same. */
async function check({ accountId }: World): Promise<void> {
  const where = { accountId };
  const rows = await prisma.session.findMany({ where });
  const live = rows.filter(({ endedAt }) => endedAt === null);
  const events = (await prisma.outbox.findMany({ where })).map(({ payload }) => Event.decode(payload));
  const created = events.flatMap(({ sessionCreated }) => sessionCreated ?? []);
  const replaced = created.flatMap(({ replacedSessionId: id }) => (/^[0-]*$/.test(id) ? [] : [id]));
  const ended = tally([...events.flatMap(({ sessionEnded }) => sessionEnded?.sessionId ?? []), ...replaced]);
  for (const { sessionId } of created) {
    const isLive = live.some(({ id }) => id === sessionId);
    assert.equal(ended.get(sessionId)?.length ?? 0, isLive ? 0 : 1, `events of the end of a session, live: ${isLive}`);
  }
  assert.equal(tally(created.map(({ sessionId }) => sessionId)).size, created.length, "a session began twice");
  assert(live.every(({ id }) => created.some(({ sessionId }) => sessionId === id)));
  const entries = await prisma.tokenStateEntry.findMany({ where: { subject: { in: rows.map(({ id }) => id) } } });
  for (const { id, endedAt, lastUsedAt } of rows) {
    const mayHaveToken = endedAt !== null && endedAt.getTime() - lastUsedAt.getTime() < ACCESS_TOKEN_MS;
    if (mayHaveToken)
      assert(
        entries.some((entry) => entry.subject === id && entry.active),
        "its tokens are good",
      );
    if (endedAt === null) assert(!entries.some((entry) => entry.subject === id), "a live session's tokens are not");
  }
  const blocked = await prisma.blockedKey.findMany({ where: { accountId, until: null } });
  const hasLeft = (await prisma.leftAccount.count({ where })) > 0;
  for (const { deviceKey, accountKey } of live) {
    assert(!hasLeft, "a session of an account that has left");
    assert(!blocked.some(({ publicKey }) => publicKey === deviceKey || publicKey === accountKey), "a blocked key's");
  }
  const freezes = events.filter(({ accountFrozen }) => accountFrozen?.frozen === true).length;
  const lifts = events.filter(({ accountFrozen }) => accountFrozen?.frozen === false).length;
  const isFrozen = (await prisma.frozenAccount.count({ where })) > 0;
  assert.equal(freezes - lifts, isFrozen ? 1 : 0, "events of freezes");
  const entry = await prisma.tokenStateEntry.findFirst({ where: { kind: "account", subject: accountId } });
  assert.equal(entry?.active ?? false, isFrozen || hasLeft, "the signer's view of a freeze");
  const parties = await prisma.freezeParty.count({ where });
  if (!isFrozen) assert.equal(parties, 0);
}

const action = (...kinds: (keyof typeof ACTIONS)[]): fc.Arbitrary<Action> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    replica: fc.nat(1),
    device: fc.nat(2),
    target: fc.nat(3),
  });
const often = action("sign in", "refresh", "refresh", "enroll");
const sometimes = action("end", "end others", "remove", "revoke", "freeze", "unfreeze", "end all", "tidy");
const once = action("leave", "erase");
const actions = fc.oneof(
  { weight: 12, arbitrary: often },
  { weight: 9, arbitrary: sometimes },
  { weight: 1, arbitrary: once },
);
const round = fc.record({
  advanceMs: fc.constantFrom(0, 1, 20_000, 60_000, 20 * 60_000),
  actions: fc.array(actions, { minLength: 1, maxLength: 5 }),
});

it("rows, events and token state say the same after all that may happen to an account at once, at two replicas", async () => {
  const property = fc.asyncProperty(fc.array(round, { minLength: 5, maxLength: 12, size: "max" }), async (rounds) => {
    const world = new World();
    for (const { advanceMs, actions } of rounds) {
      world.clock.advance(advanceMs);
      await Promise.all(actions.map((each) => perform(world, each)));
      await check(world);
    }
  });
  await fc.assert(property, { numRuns: 12 });
}, 120_000);
