import { activeTrace, formatTraceParent, isUuid, NIL_UUID, orderedUuidv7, type TraceParent } from "@countersign/core";
import { Event } from "@countersign/proto/events/v1/events.ts";

export interface OutboxRow {
  id: string;
  subject: string;
  payload: Uint8Array<ArrayBuffer>;
  createdAt: Date;
  /** Of an event that is of no account: zeros. */
  accountId: string;
}

// Dots, stars and blanks would change the subject.
const TOKEN = /^[a-z0-9]+(-[a-z0-9]+)*$/;

type RowListener = (row: OutboxRow) => void;

const listeners = new Set<RowListener>();

/** Calls `listener` for each row that this process makes, before it commits. Returns how to end that. */
export function onOutboxRow(listener: RowListener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export interface EventContext {
  /** Absent: the event is about no account. */
  accountId?: string;
  occurredAt: Date;
  /** Default: none; the event is of no request. */
  requestId?: string;
  /** UUIDv7. Default: a new one of this moment, which sorts after those of rows that this process made. */
  id?: string;
  /** The work that made the event. Default: the work that makes the row. */
  trace?: TraceParent | undefined;
}

type Payload = Partial<Omit<Event, "id" | "occurredAt" | "accountId" | "requestId" | "traceparent">>;

/**
 * Returns the row of an event of a service, with its payload by its name in events.proto, to insert in the
 * transaction that changes the state; lets the process's publisher poll for it. NATS lets a service publish
 * its own subjects only. Errors: Error for parts that a subject cannot have.
 */
export function eventRow(service: string, event: string, context: EventContext, payload: Payload): OutboxRow {
  const { occurredAt, requestId = "", id = orderedUuidv7(), trace = activeTrace() } = context;
  // About no account: the subject's place for one says so.
  const { accountId = "all" } = context;
  for (const part of [service, accountId, event]) {
    if (!TOKEN.test(part)) throw new Error(`"${part}" cannot be part of a subject`);
  }
  const traceparent = trace === undefined ? "" : formatTraceParent(trace);
  const about = { id, occurredAt, accountId: context.accountId ?? "", requestId, traceparent };
  const row = {
    id,
    subject: `cs.v1.${service}.${accountId}.${event}`,
    payload: Uint8Array.from(Event.encode({ ...about, ...payload }).finish()),
    createdAt: occurredAt,
    accountId: isUuid(accountId) ? accountId : NIL_UUID,
  };
  for (const listener of listeners) listener(row);
  return row;
}
