import { NIL_UUID, type TraceParent } from "@countersign/core";
import { eventRow } from "@countersign/events";
import { type Queries, sql } from "@countersign/postgres";
import { publicKeyToProto } from "@countersign/rpc";
import type { UnfreezeRequest } from "../domain/freeze/freeze-rules.ts";
import type { EndCause, Session } from "../domain/sessions/session.ts";
import type { SignUpSaga } from "../domain/sign-up/sign-up-saga.ts";
import type { Prisma } from "./generated/client.ts";

interface Context {
  accountId: string;
  requestId: string;
  now: Date;
  /** Default: the work that makes the row. */
  trace?: TraceParent | undefined;
}
type Request = Pick<Context, "requestId" | "trace">;

type Payload = Parameters<typeof eventRow>[3];

const authEventRow = (event: string, { accountId, requestId, now, trace }: Context, payload: Payload) =>
  eventRow("auth", event, { accountId, requestId, trace, occurredAt: now }, payload);

async function publish(tx: Prisma.TransactionClient, event: string, context: Context, payload: Payload): Promise<void> {
  await tx.outbox.create({ data: authEventRow(event, context, payload) });
}

/** Returns the outbox row of a sign-up's end, for the statement that writes it. */
export const signUpCompletedRow = ({ accountId, chainName, app }: SignUpSaga, now: Date) =>
  authEventRow("sign-up-completed", { accountId, requestId: "", now }, { signUpCompleted: { chainName, app } });

/**
 * Returns the outbox row of a session's beginning, and the position in its payload, from 1, of the id of the
 * session that it replaces, which is nil: only the statement that writes both knows it.
 */
export const sessionCreatedRow = (session: Session, request: Request) => {
  const { id: sessionId, accountId, app, createdAt: now } = session;
  const deviceKey = publicKeyToProto(session.deviceKey);
  const accountKey = publicKeyToProto(session.accountKey);
  const recovery = session.scope === "recover";
  const payload = { sessionCreated: { sessionId, app, deviceKey, accountKey, recovery, replacedSessionId: NIL_UUID } };
  const row = authEventRow("session-created", { accountId, now, ...request }, payload);
  // The last one: a request id, which comes earlier in the message, may be anything.
  return { row, replacedIdAt: Buffer.from(row.payload).lastIndexOf(NIL_UUID) + 1 };
};

export const publishSessionEnded = async (
  tx: Queries,
  { id: sessionId, accountId }: Pick<Session, "id" | "accountId">,
  cause: EndCause,
  context: Omit<Context, "accountId">,
): Promise<void> => {
  const payload = { sessionEnded: { sessionId, cause } };
  const { id, ...row } = authEventRow("session-ended", { accountId, ...context }, payload);
  await tx.execute(sql`
    INSERT INTO outbox (id, subject, payload, created_at, account_id)
    VALUES (${id}::uuid, ${row.subject}, ${row.payload}, ${row.createdAt}, ${accountId}::uuid)`);
};

export const publishAccountFrozen = (
  tx: Prisma.TransactionClient,
  context: Context,
  accountFrozen: { frozen: boolean; cause: "user" | "chain-alert" | "administrator" },
) => publish(tx, accountFrozen.frozen ? "account-frozen" : "account-unfrozen", context, { accountFrozen });

/** Publishes that a person's data is to be erased everywhere. */
export const publishPersonErased = (tx: Prisma.TransactionClient, context: Context, appIds: string[]) =>
  publish(tx, "person-erased", context, { personErased: { appIds } });

/** The operation that events name where a freeze is to be lifted. */
const UNFREEZE = "unfreeze";

/** Publishes a party's request to lift an account's freeze, which happens after a time lock. */
export const publishUnfreezeAsked = (
  tx: Prisma.TransactionClient,
  context: Context,
  { id, availableAt }: UnfreezeRequest,
) =>
  publish(tx, "time-lock-started", context, {
    timeLockStarted: { id, operation: UNFREEZE, availableAt, chainName: "" },
  });

/** Publishes that such a request was cancelled. */
export const publishUnfreezeCancelled = (tx: Prisma.TransactionClient, context: Context, { id }: UnfreezeRequest) =>
  publish(tx, "time-lock-cancelled", context, { timeLockCancelled: { id, operation: UNFREEZE } });
