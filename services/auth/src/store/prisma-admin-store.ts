import { insertAction, type NewAction } from "@countersign/admin-actions";
import { type Administrator, AppError, type Clock } from "@countersign/core";
import { deleteInBatches, deletionOf, queriesIn, sql } from "@countersign/postgres";
import type { AdminStore, OfSignUp } from "../domain/admin/ports.ts";
import { BY_ADMINISTRATOR } from "../domain/freeze/holds.ts";
import { lockAccess } from "./begin-sessions.ts";
import { publishPersonErased } from "./events.ts";
import type { Prisma, PrismaClient } from "./generated/client.ts";
import { appsOf } from "./postgres-contact-store.ts";
import { FAR_FUTURE } from "./postgres-sign-up-store.ts";
import { endAllSessions } from "./prisma-access-store.ts";
import { liftHolds, openHolds, placeHold } from "./prisma-hold-store.ts";
import { toKey, toSaga } from "./rows.ts";

type Tx = Prisma.TransactionClient;

/** Throws AccountNotFound for an account that auth never had. */
async function requireAccount(tx: Tx, accountId: string): Promise<void> {
  const where = { accountId };
  const rows = await Promise.all([
    tx.identity.count({ where }),
    tx.accountAccess.count({ where }),
    tx.leftAccount.count({ where }),
  ]);
  if (rows.every((count) => count === 0)) throw new AppError("AccountNotFound");
}

/**
 * Locks an account's identity, as a request that leases a sign-up does: they come one after the other. First
 * of all locks.
 */
async function lockIdentity(tx: Tx, accountId: string): Promise<void> {
  const identity = await tx.identity.findUnique({ where: { accountId }, select: { issuer: true, subject: true } });
  if (!identity) return;
  const { issuer, subject } = identity;
  await tx.$executeRaw`SELECT 1 FROM identity WHERE issuer = ${issuer} AND subject = ${subject} FOR UPDATE`;
}

const byAdministrator = (now: Date) => ({ cause: "administrator" as const, now, requestId: "" });

/**
 * Deletes what auth has about a person, but for what `forgetRequests` deletes; what stays has the account's
 * id, keys and times.
 */
async function erasePerson(tx: Tx, accountId: string, now: Date): Promise<number> {
  const where = { accountId };
  await lockAccess(queriesIn(tx), accountId);
  const known = (await appsOf(tx, accountId)).map((appId) => ({ accountId, appId }));
  await tx.session.deleteMany({ where: { accountId, endedAt: { not: null } } });
  // After the sessions, as the job that deletes them has it. They stay, with nothing but ids: an erasure that
  // is repeated reaches the same backends.
  await tx.accountApp.createMany({ data: known, skipDuplicates: true });
  const apps = (await tx.accountApp.findMany({ where })).map(({ appId }) => appId);
  await tx.formerSession.deleteMany({ where });
  await tx.twoFactorSignIn.deleteMany({ where: { accountId, transactionId: { not: null } } });
  await tx.passkeyCounter.deleteMany({ where });
  await tx.signUp.deleteMany({ where });
  await tx.identity.deleteMany({ where });
  await publishPersonErased(tx, { accountId, requestId: "", now }, apps);
  // The last one that locks: see writeTokenState. The sessions that it ended are locked already.
  const ended = await endAllSessions(tx, accountId, { ...byAdministrator(now), leaves: true });
  await tx.session.deleteMany({ where });
  return ended;
}

/**
 * Deletes the requests of an erased account that nobody approved, in batches: somebody with the login can
 * leave more than a transaction has time for. It gets no others. Those that a crash leaves end in a week.
 */
async function forgetRequests(prisma: PrismaClient, accountId: string): Promise<void> {
  const own = sql`account_id = ${accountId}::uuid ORDER BY account_id`;
  const deletion = deletionOf(queriesIn(prisma), "two_factor_sign_in", own);
  while (await deleteInBatches([deletion]));
  // Also rows that another transaction had locked.
  await prisma.twoFactorSignIn.deleteMany({ where: { accountId } });
}

/** Commits what administrators do with its record, in Postgres. */
export function prismaAdminStore(prisma: PrismaClient, clock: Clock): AdminStore {
  /** Records, which decides a request, and then acts; all of it in one commit. */
  const commit = <T extends object>(
    by: Administrator,
    action: NewAction,
    act: (tx: Tx, id: string, now: Date) => Promise<T>,
  ) =>
    prisma.$transaction(async (tx) => {
      const actionId = await insertAction(queriesIn(tx), by, action, clock);
      return { actionId, ...(await act(tx, actionId, clock.now())) };
    });
  const decided = (requestId: string | undefined) =>
    requestId === undefined ? { outcome: "done" } : { outcome: "approved", requestId };

  async function findSignUp(tx: Tx, of: OfSignUp) {
    const row = await tx.signUp.findUnique({ where: { accountId_chainName: { ...of } } });
    if (!row || row.completedAt !== null) throw new AppError("SignUpNotFound");
    return row;
  }

  /** Returns a sign-up that may be cancelled: its account is on no chain, and meant for this one only. */
  async function findCancellable(tx: Tx, of: OfSignUp) {
    const row = await findSignUp(tx, of);
    if (row.deployedAt !== null) throw new AppError("SignUpOnChain", { detail: "The account was deployed: resume it" });
    if ((await tx.signUp.count({ where: { accountId: of.accountId } })) > 1)
      throw new AppError("SignUpOnChain", { detail: "The account is meant for other chains too: resume it" });
    return row;
  }

  return {
    openHolds: (accountId) => openHolds(prisma, accountId),

    hold: (by, accountId) =>
      commit(by, { command: "accounts freeze", accountId, outcome: "done" }, async (tx, id, now) => {
        await requireAccount(tx, accountId);
        const place = { chainName: "", transactionId: "", eventType: BY_ADMINISTRATOR };
        await placeHold(tx, { alertId: id, accountId, ...place }, now);
        return { details: [`frozen by ${id}`] };
      }),

    liftHolds: (by, { accountId, seen }, requestId) => {
      const action = { command: "accounts unfreeze", accountId, arguments: { seen }, ...decided(requestId) };
      return commit(by, action, async (tx, _id, now) => {
        await requireAccount(tx, accountId);
        const { holds, still } = await liftHolds(tx, { accountId, seen, by: by.person, reason: by.reason, now });
        const lifted = holds.map(({ alertId, chainName, eventType, transactionId }) =>
          ["lifted", alertId, chainName, eventType, transactionId].filter(Boolean).join(" "),
        );
        if (lifted.length === 0) lifted.push("nothing was lifted");
        return { details: still ? [...lifted, STILL[still]] : lifted };
      });
    },

    endSessions: (by, accountId) =>
      commit(by, { command: "accounts end-sessions", accountId, outcome: "done" }, async (tx, _id, now) => {
        await requireAccount(tx, accountId);
        const ended = await endAllSessions(tx, accountId, { ...byAdministrator(now), leaves: false });
        return { details: [`${ended} sessions ended`] };
      }),

    leaseSignUp: (by, of, leaseUntil) => {
      const { accountId, chainName } = of;
      const action = { command: "sign-ups resume", accountId, arguments: { chainName }, outcome: "done" };
      return commit(by, action, async (tx) => {
        await lockIdentity(tx, accountId);
        await findSignUp(tx, of);
        const row = await tx.signUp.update({ where: { accountId_chainName: { ...of } }, data: { leaseUntil } });
        return { saga: toSaga(row), details: [] };
      });
    },

    beginCancel: (by, of, leaseMs) => {
      const { accountId, chainName } = of;
      const action = { command: "sign-ups cancel", accountId, arguments: { chainName }, outcome: "begun" };
      return prisma.$transaction(async (tx) => {
        await lockIdentity(tx, accountId);
        const { accountKeyAlgorithm, accountKey, leaseUntil: leased } = await findCancellable(tx, of);
        const now = clock.now();
        // A later lease is another cancellation's, or of a sign-up that was given up.
        const isDriven = leased > now && leased.getTime() !== FAR_FUTURE.getTime();
        const drivenUntil = isDriven ? new Date(Math.min(leased.getTime(), now.getTime() + leaseMs)) : now;
        const leaseUntil = new Date(drivenUntil.getTime() + leaseMs);
        await insertAction(queriesIn(tx), by, action, clock);
        await tx.signUp.update({ where: { accountId_chainName: { ...of } }, data: { leaseUntil } });
        return { userKey: toKey(accountKeyAlgorithm, accountKey), drivenUntil, leaseUntil };
      });
    },

    async cancelSignUp(by, of, leaseUntil) {
      const { accountId, chainName } = of;
      const action = { command: "sign-ups cancel", accountId, arguments: { chainName }, outcome: "done" };
      const cancelled = await commit(by, action, async (tx, _id, now) => {
        await lockIdentity(tx, accountId);
        const { leaseUntil: leased } = await findCancellable(tx, of);
        if (leased.getTime() !== leaseUntil.getTime())
          throw new AppError("SignUpOnChain", {
            detail: "A request has continued it meanwhile: try again in a minute",
          });
        await erasePerson(tx, accountId, now);
        return { details: ["cancelled; the person may sign up again"] };
      });
      await forgetRequests(prisma, accountId);
      return cancelled;
    },

    async erase(by, accountId, requestId) {
      const action = { command: "person erase", accountId, ...decided(requestId) };
      const erased = await commit(by, action, async (tx, _id, now) => {
        await requireAccount(tx, accountId);
        await lockIdentity(tx, accountId);
        // Not one that its chain refused: where the account is on another chain, nobody can cancel it.
        const open = await tx.signUp.count({
          where: { accountId, completedAt: null, leaseUntil: { not: FAR_FUTURE } },
        });
        if (open > 0) throw new AppError("SignUpOnChain", { detail: "A sign-up is under way: resume or cancel it" });
        const ended = await erasePerson(tx, accountId, now);
        return { details: [`erased here, ${ended} sessions ended; the other services follow by an event`] };
      });
      await forgetRequests(prisma, accountId);
      return erased;
    },
  };
}

const STILL = {
  held: "still frozen: by alerts that came later, or another alert was named",
  "frozen-by-user": "still frozen: by the person, who can lift that",
  left: "still frozen: the account has left the service",
} as const;
