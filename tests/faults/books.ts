import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { listEventStreams } from "@countersign/events/set-up.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { connect } from "nats";
import pg from "pg";
import { recordOfRow } from "../../services/signer/src/testing/stored-records.ts";
import type { chainReader } from "./chain-reader.ts";

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

/** Returns every event, in the order of its stream. */
export async function readEvents(stack: Stack): Promise<StoredEvent[]> {
  const { cert, key } = stack.tls.clients.operator as { cert: string; key: string };
  const file = (path: string) => readFileSync(resolve(root, path), "utf8");
  const tls = { ca: file(stack.tls.ca), cert: file(cert), key: file(key) };
  const connection = await connect({ servers: stack.nats.replace("nats://", ""), tls });
  try {
    const manager = await connection.jetstreamManager();
    const events: StoredEvent[] = [];
    for (const stream of await listEventStreams(manager)) {
      const { state } = await manager.streams.info(stream);
      if (state.messages === 0) continue;
      const consumer = await connection.jetstream().consumers.get(stream);
      const messages = await consumer.consume();
      for await (const message of messages) {
        events.push({ subject: message.subject, event: Event.decode(message.data) });
        if (message.seq >= state.last_seq) break;
      }
    }
    return events;
  } finally {
    await connection.close();
  }
}

export interface AuditChain {
  head: { chainId: string; sequence: bigint; hash: string };
  records: ReturnType<typeof recordOfRow>[];
}

/** Returns the signer's whole audit log. */
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

/** Returns all databases, the stream, the audit log and the chain after one block, as they are now. */
export async function readBooks(stack: Stack, chain: ReturnType<typeof chainReader>, after: bigint) {
  const [identities, sagas, keys, devices, addresses, sessions, signIns, requests, additions] = await Promise.all([
    query<{ email: string; account_id: string }>(stack, "auth", "SELECT email, account_id FROM identity"),
    query<{ account_id: string }>(stack, "auth", "SELECT account_id FROM sign_up"),
    query<{ account_id: string; account_key: string; key_index: number }>(
      stack,
      "key",
      "SELECT account_id, account_key, key_index FROM registration",
    ),
    query<{ account_id: string; public_key: string }>(stack, "device", "SELECT account_id, public_key FROM device"),
    query<{ account_id: string; chain_type: string; address: string }>(stack, "account", "SELECT * FROM address"),
    query<{ account_id: string; device_key: string }>(stack, "auth", "SELECT account_id, device_key FROM session"),
    query<{ id: string; user_key: string; transaction_id: string | null; finished_at: Date | null }>(
      stack,
      "auth",
      "SELECT id, account_key AS user_key, transaction_id, finished_at FROM two_factor_sign_in",
    ),
    query<{ id: string; account_key: string; status: string; result_tx_id: string | null; key_index: number | null }>(
      stack,
      "device",
      "SELECT id, account_key, status, result_tx_id, key_index FROM two_factor",
    ),
    query<{ account_id: string; user_key: string; state: string; transaction_id: string; key_index: number }>(
      stack,
      "account",
      "SELECT account_id, user_key, state, transaction_id, key_index FROM key_addition",
    ),
  ]);
  const [events, audit, keysAdded, accountsMade, transactions] = await Promise.all([
    readEvents(stack),
    readAudit(stack),
    chain.keysAdded(after),
    chain.accountsMade(after),
    chain.transactions(after),
  ]);
  return {
    ...{ identities, sagas, keys, devices, addresses, sessions, signIns, requests, additions },
    ...{ events, audit, keysAdded, accountsMade, transactions },
  };
}
export type Books = Awaited<ReturnType<typeof readBooks>>;
