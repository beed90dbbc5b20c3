import {
  claimRows,
  createShardBatcher,
  type Postgres,
  type Queries,
  sql,
  sqlFile,
  writeTogether,
} from "@countersign/postgres";
import type { OpenSagas } from "@countersign/runtime";
import type { IdentityStore } from "../domain/login.ts";
import type {
  LeaseSignUp,
  SignUpDecision,
  SignUpFacts,
  SignUpSaga,
  SignUpStep,
  SignUpStore,
} from "../domain/sign-up/sign-up-saga.ts";
import { lockAccess } from "./begin-sessions.ts";
import { signUpCompletedRow } from "./events.ts";
import type { PrismaClient } from "./generated/client.ts";
import { findIdempotencyKey, insertIdempotencyKey } from "./idempotency.ts";
import { type SagaRow, toSaga } from "./rows.ts";

/** The end of the lease of a sign-up that its runner has given up. */
export const FAR_FUTURE = new Date("9999-01-01T00:00:00Z");

/**
 * Locks an identity's row, so that its requests come one after the other; where it is new, inserts the row.
 * Returns its account, and whether the row is new.
 */
async function lockIdentity(tx: Queries, { profile, newAccountId, now }: LeaseSignUp) {
  const { issuer, subject, email, name } = profile;
  // An update whose condition fails still locks the row.
  const inserted = await tx.execute(sql`
    INSERT INTO identity (issuer, subject, account_id, email, name, created_at)
    VALUES (${issuer}, ${subject}, ${newAccountId}::uuid, ${email}, ${name}, ${now})
    ON CONFLICT (issuer, subject) DO UPDATE SET email = EXCLUDED.email WHERE false`);
  if (inserted === 1) return { accountId: newAccountId, isNew: true };
  const [accountId] = await findAccounts(tx, [profile]);
  return { accountId: accountId!, isNew: false };
}

type Identity = Pick<LeaseSignUp["profile"], "issuer" | "subject">;

/** Returns the account of each identity. */
async function findAccounts(queries: Queries, identities: readonly Identity[]): Promise<(string | undefined)[]> {
  const issuers = [...new Set(identities.map(({ issuer }) => issuer))];
  const subjects = identities.map(({ subject }) => subject);
  const rows = await queries.query<Identity & { accountId: string }>(sql`
    SELECT issuer, subject, account_id AS "accountId" FROM identity
    WHERE issuer = ANY(${issuers}) AND subject = ANY(${subjects})`);
  const nameOf = ({ issuer, subject }: Identity) => JSON.stringify([issuer, subject]);
  const found = new Map(rows.map((row) => [nameOf(row), row.accountId]));
  return identities.map((each) => found.get(nameOf(each)));
}

const findSignUp = sqlFile(new URL("../../sql/find-sign-up.sql", import.meta.url));

/**
 * Returns why an account begins on no further chain. Under the lock of its access: a removal or a freeze
 * comes before this sign-up, or after it.
 */
async function findRefusal(tx: Queries, { accountKey, deviceKey, now }: LeaseSignUp, accountId: string) {
  await lockAccess(tx, accountId);
  const [found] = await tx.query<{ isBlocked: boolean; isFrozen: boolean }>(sql`
    SELECT EXISTS (SELECT FROM left_account WHERE account_id = ${accountId}::uuid) OR EXISTS (
        SELECT FROM blocked_key WHERE account_id = ${accountId}::uuid AND (until IS NULL OR until > ${now})
          AND (algorithm, public_key) IN ((${accountKey.algorithm}, ${accountKey.publicKey}),
            (${deviceKey.algorithm}, ${deviceKey.publicKey}))) AS "isBlocked",
      EXISTS (SELECT FROM frozen_account WHERE account_id = ${accountId}::uuid) OR EXISTS (
        SELECT FROM account_hold WHERE account_id = ${accountId}::uuid AND lifted_at IS NULL) AS "isFrozen"
    FROM account_access WHERE account_id = ${accountId}::uuid`);
  if (found?.isBlocked) return "PleaseRegisterKey";
  return found?.isFrozen ? "AccountFrozen" : undefined;
}

async function findFacts(tx: Queries, command: LeaseSignUp, accountId: string | undefined): Promise<SignUpFacts> {
  const { chainName, idempotency, session } = command;
  const earlier = idempotency && (await findIdempotencyKey(tx, idempotency));
  type Row = SagaRow & Pick<SignUpFacts, "isOnOtherChain">;
  const [row] = accountId === undefined ? [] : await tx.query<Row>(findSignUp({ accountId, chainName }));
  const isFurther = row === undefined && accountId !== undefined && session?.accountId === accountId;
  const refusal = isFurther ? await findRefusal(tx, command, accountId) : undefined;
  return { accountId, saga: row && toSaga(row), isOnOtherChain: row?.isOnOtherChain ?? false, refusal, earlier };
}

/** Writes the saga that the decision leases. */
async function writeSaga(
  tx: Queries,
  command: LeaseSignUp,
  decision: Extract<SignUpDecision, { kind: "begin" | "resume" }>,
  accountId: string,
): Promise<SignUpSaga> {
  const { chainName, app, accountKey, deviceKey, deviceId, sessionId, leaseUntil, now } = command;
  if (decision.kind === "resume") {
    await tx.execute(sql`
      UPDATE sign_up SET lease_until = ${leaseUntil} WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName}`);
    return { ...decision.saga, leaseUntil };
  }
  const { userKeyType, device, profileImageUrl } = command;
  await tx.execute(sql`
    INSERT INTO sign_up (account_id, chain_name, app_id, app_name, user_key_type, account_key_algorithm, account_key,
      device_key_algorithm, device_key, device_attributes, device_id, session_id, profile_image_url, lease_until,
      created_at)
    VALUES (${accountId}::uuid, ${chainName}, ${app.appId}, ${app.appName}, ${userKeyType}, ${accountKey.algorithm},
      ${accountKey.publicKey}, ${deviceKey.algorithm}, ${deviceKey.publicKey}, ${JSON.stringify(device)}::jsonb,
      ${deviceId}::uuid, ${sessionId}::uuid, ${profileImageUrl}, ${leaseUntil}, ${now})`);
  const given = { chainName, app, userKeyType, accountKey, deviceKey, device, deviceId, sessionId, profileImageUrl };
  return { ...given, accountId, createdAt: now, done: new Set(), leaseUntil };
}

/** Returns a mark of steps with its event, which the statement writes where the mark is the last one. */
function markOf(saga: SignUpSaga, steps: readonly SignUpStep[], now: Date) {
  const at = (each: SignUpStep) => (steps.includes(each) ? now : null);
  const { id: eventId, subject, payload } = signUpCompletedRow(saga, now);
  const { accountId, chainName } = saga;
  const taken = {
    deployedAt: at("DeployAccount"),
    keyRegisteredAt: at("RegisterKey"),
    deviceRegisteredAt: at("RegisterDevice"),
  };
  return { accountId, chainName, ...taken, now, eventId, subject, payload };
}

const markSteps = {
  one: sqlFile(new URL("../../sql/mark-sign-up.sql", import.meta.url)),
  many: sqlFile(new URL("../../sql/mark-sign-ups.sql", import.meta.url)),
};

/** Keeps identities and sign-up sagas in Postgres. Prisma is not used where every sign-up passes. */
export function postgresSignUpStore(prisma: PrismaClient, postgres: Postgres): SignUpStore & IdentityStore {
  const writeMark = writeTogether(postgres, markSteps);
  // Not remembered: a person who was erased, or whose sign-up was cancelled, may sign up again.
  const findAccount = createShardBatcher(
    postgres,
    ({ subject }: Identity) => subject,
    (identities) => findAccounts(postgres, identities),
  );
  return {
    lease: (command, decide) =>
      postgres.transaction(async (tx) => {
        const { idempotency, now } = command;
        const { accountId, isNew } = await lockIdentity(tx, command);
        const facts = await findFacts(tx, command, isNew ? undefined : accountId);
        const decision = decide(command, facts);
        if (decision.kind !== "begin" && decision.kind !== "resume") {
          const { issuer, subject } = command.profile;
          if (isNew) await tx.execute(sql`DELETE FROM identity WHERE issuer = ${issuer} AND subject = ${subject}`);
          return decision;
        }
        const saga = await writeSaga(tx, command, decision, accountId);
        if (idempotency && !facts.earlier) await insertIdempotencyKey(tx, idempotency, { accountId, now });
        return { kind: "drive", saga };
      }),

    async mark(...mark) {
      await writeMark(markOf(...mark));
    },

    async giveUp({ accountId, chainName, leaseUntil }) {
      await prisma.signUp.updateMany({ where: { accountId, chainName, leaseUntil }, data: { leaseUntil: FAR_FUTURE } });
    },

    leaseAbandoned(now, leaseUntil, limit) {
      const abandoned = { completedAt: null, leaseUntil: { lt: now } };
      return claimRows(
        limit,
        (take) => prisma.signUp.findMany({ where: abandoned, orderBy: { leaseUntil: "asc" }, take }),
        async ({ accountId, chainName }) => {
          const where = { accountId, chainName, ...abandoned };
          const [row] = await prisma.signUp.updateManyAndReturn({ where, data: { leaseUntil } });
          return row && toSaga(row);
        },
      );
    },

    accountOf: (issuer, subject) => findAccount({ issuer, subject }),

    async accountByKey({ publicKey }) {
      const rows = await prisma.signUp.findMany({
        where: { OR: [{ accountKey: publicKey }, { deviceKey: publicKey }] },
        select: { accountId: true },
        distinct: ["accountId"],
        take: 2,
      });
      return rows.length === 1 ? rows[0]?.accountId : undefined;
    },

    async accountByEmail(email) {
      const where = { email: { equals: email, mode: "insensitive" as const } };
      const rows = email === "" ? [] : await prisma.identity.findMany({ where, select: { accountId: true }, take: 2 });
      return rows.length === 1 ? rows[0]?.accountId : undefined;
    },
  };
}

const openSignUps = sqlFile(new URL("../../sql/open-sign-ups.sql", import.meta.url));

/** Returns what reads the unfinished sign-ups of these chains, by an index. */
export const readOpenSignUps = (postgres: Postgres) => (chains: readonly string[]) =>
  postgres.query<OpenSagas>(openSignUps({ chains }));
