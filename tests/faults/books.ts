import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { root } from "@countersign/build/paths.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { connect } from "nats";
import pg from "pg";
import type { AuditRecord } from "../../services/signer/src/audit/record.ts";
import { recordOfRow } from "../../services/signer/src/testing/stored-records.ts";

type Row = Record<string, unknown>;

/** Runs one query in a service's own database. */
export async function query<T extends Row>(stack: Stack, service: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: stack.databases[service] as string });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

export interface StoredEvent {
  subject: string;
  event: Event;
}

/** Every event in the stream, in its order. */
export async function readEvents(stack: Stack): Promise<StoredEvent[]> {
  const { cert, key } = stack.tls.clients.operator as { cert: string; key: string };
  const file = (path: string) => readFileSync(resolve(root, path), "utf8");
  const tls = { ca: file(stack.tls.ca), cert: file(cert), key: file(key) };
  const connection = await connect({ servers: stack.nats.replace("nats://", ""), tls });
  try {
    const stream = "CS_EVENTS";
    const manager = await connection.jetstreamManager();
    const { state } = await manager.streams.info(stream);
    const events: StoredEvent[] = [];
    if (state.messages === 0) return events;
    const consumer = await connection.jetstream().consumers.get(stream);
    const messages = await consumer.consume();
    for await (const message of messages) {
      events.push({ subject: message.subject, event: Event.decode(message.data) });
      if (message.seq >= state.last_seq) break;
    }
    return events;
  } finally {
    await connection.close();
  }
}

export interface AuditChain {
  head: { chainId: string; sequence: bigint; hash: string };
  records: AuditRecord[];
}

/** The signer's whole audit log. */
export async function readAudit(stack: Stack): Promise<AuditChain[]> {
  const heads = await query<{ id: string; head_sequence: string; head_hash: string }>(
    stack,
    "signer",
    "SELECT id, head_sequence, head_hash FROM audit_chain",
  );
  const rows = await query<Row>(stack, "signer", "SELECT * FROM audit_record ORDER BY chain_id, sequence");
  const records = rows.map(recordOfRow);
  return heads.map(({ id, head_sequence, head_hash }) => ({
    head: { chainId: id, sequence: BigInt(head_sequence), hash: head_hash },
    records: records.filter((record) => record.chainId === id),
  }));
}
