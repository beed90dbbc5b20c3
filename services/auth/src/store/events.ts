import { uuidv7 } from "@countersign/core";
import { outboxRow } from "@countersign/events";
import { type Queries, sql } from "@countersign/postgres";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import type { UnfreezeRequest } from "../domain/freeze/freeze-rules.ts";
import type { EndCause, Session } from "../domain/sessions/session.ts";
import type { SignUpSaga } from "../domain/sign-up/sign-up-saga.ts";
import type { Prisma } from "./generated/client.ts";

type Payload = Pick<
  Event,
  "signUpCompleted" | "sessionCreated" | "sessionEnded" | "accountFrozen" | "timeLockStarted" | "timeLockCancelled"
>;

function eventRow(event: string, context: { accountId: string; requestId: string; now: Date }, payload: Payload) {
  const { accountId, requestId, now } = context;
  const id = uuidv7({ now: () => now });
  const message = Event.encode({ id, occurredAt: now, accountId, requestId, ...payload }).finish();
  return outboxRow({ service: "auth", accountId, event, message, id, createdAt: now });
}

async function publish(tx: Prisma.TransactionClient, ...event: Parameters<typeof eventRow>): Promise<void> {
  await tx.outbox.create({ data: eventRow(...event) });
}

/** Returns the outbox row of a sign-up's end, for the statement that writes it. */
export const signUpCompletedRow = ({ accountId, chainName, app }: SignUpSaga, now: Date) =>
  eventRow("sign-up-completed", { accountId, requestId: "", now }, { signUpCompleted: { chainName, app } });

/** Returns the outbox row of a session's beginning, for the statement that writes the session. */
export const sessionCreatedRow = (session: Session, requestId: string) => {
  const { id: sessionId, accountId, app, createdAt: now } = session;
  const deviceKey = publicKeyToProto(session.deviceKey);
  const accountKey = publicKeyToProto(session.accountKey);
  const payload = { sessionCreated: { sessionId, app, deviceKey, accountKey, recovery: session.scope === "recover" } };
  return eventRow("session-created", { accountId, requestId, now }, payload);
};

/** Represents a session id until the statement that ends the session knows it; as long as every id. */
const SOME_SESSION = "00000000-0000-0000-0000-000000000000";

/**
 * Returns the outbox row of the end of the session that `session` replaces. Only the statement that writes it
 * knows the replaced session's id, so the payload comes in two parts, with the id's 36 characters between
 * them.
 */
export const sessionReplacedRow = ({ accountId, createdAt: now }: Session, requestId: string) => {
  const payload = { sessionEnded: { sessionId: SOME_SESSION, cause: "replaced" satisfies EndCause } };
  const { payload: bytes, ...row } = eventRow("session-ended", { accountId, requestId, now }, payload);
  // The last one: a request id, which comes earlier in the message, may be anything.
  const at = Buffer.from(bytes).lastIndexOf(SOME_SESSION);
  return { ...row, beforeId: bytes.slice(0, at), afterId: bytes.slice(at + SOME_SESSION.length) };
};

export const publishSessionEnded = async (
  tx: Queries,
  ended: { sessionId: string; accountId: string; cause: EndCause },
  now: Date,
  requestId: string,
): Promise<void> => {
  const { sessionId, accountId, cause } = ended;
  const { id, ...row } = eventRow(
    "session-ended",
    { accountId, requestId, now },
    { sessionEnded: { sessionId, cause } },
  );
  await tx.execute(sql`
    INSERT INTO outbox (id, subject, payload, created_at)
    VALUES (${id}::uuid, ${row.subject}, ${row.payload}, ${row.createdAt})`);
};

interface FrozenContext {
  accountId: string;
  frozen: boolean;
  requestId: string;
  cause: "user" | "chain-alert";
}

export const publishAccountFrozen = (
  tx: Prisma.TransactionClient,
  { accountId, frozen, requestId, cause }: FrozenContext,
  now: Date,
) => {
  const event = frozen ? "account-frozen" : "account-unfrozen";
  return publish(tx, event, { accountId, requestId, now }, { accountFrozen: { frozen, cause } });
};

/** The operation that events name where a freeze is to be lifted. */
const UNFREEZE = "unfreeze";

/** Publishes a party's request to lift an account's freeze, which happens after a time lock. */
export const publishUnfreezeAsked = (
  tx: Prisma.TransactionClient,
  context: { accountId: string; requestId: string; now: Date },
  { id, availableAt }: UnfreezeRequest,
) =>
  publish(tx, "time-lock-started", context, {
    timeLockStarted: { id, operation: UNFREEZE, availableAt, chainName: "" },
  });

/** Publishes that such a request was cancelled. */
export const publishUnfreezeCancelled = (
  tx: Prisma.TransactionClient,
  context: { accountId: string; requestId: string; now: Date },
  { id }: UnfreezeRequest,
) => publish(tx, "time-lock-cancelled", context, { timeLockCancelled: { id, operation: UNFREEZE } });
