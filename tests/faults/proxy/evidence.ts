import { createHash } from "node:crypto";
import { services } from "@countersign/build/paths.ts";
import { listEventStreams } from "@countersign/events/set-up.ts";
import { envelopeMessage, type FlowTransaction, payloadMessage } from "@countersign/flow";
import { loadTls } from "@countersign/runtime";
import { connect } from "nats";
import type { ProxiedStack } from "./proxied-stack.ts";

/** Index of the server's key in every account. */
const SERVER_KEY = 0;

/** Returns every message of the streams of events, as subject and event id. */
export async function publishedEvents({ stack }: ProxiedStack): Promise<{ subject: string; id: string }[]> {
  const { cert, key } = stack.tls.clients.operator!;
  const tls = loadTls({ ca: stack.tls.ca, cert, key });
  const connection = await connect({
    servers: stack.nats,
    tls: { ca: tls.ca.toString(), cert: tls.cert.toString(), key: tls.key.toString() },
  });
  try {
    const manager = await connection.jetstreamManager();
    const found: { subject: string; id: string }[] = [];
    for (const stream of await listEventStreams(manager)) {
      const { state } = await manager.streams.info(stream);
      if (state.messages === 0) continue;
      for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
        const { subject, header } = await manager.streams.getMessage(stream, { seq });
        found.push({ subject, id: header.get("Nats-Msg-Id") });
      }
    }
    return found;
  } finally {
    await connection.close();
  }
}

async function emittedEvents({ query }: ProxiedStack): Promise<{ subject: string; id: string }[]> {
  const sql = "SELECT id::text, subject FROM emitted";
  return (await Promise.all(services.map((s) => query<{ subject: string; id: string }>(s, sql)))).flat();
}

/**
 * Returns events that are not exactly once in the stream, or that no service emitted. Some events are emitted
 * all the time (the signer's checkpoints), so callers repeat this until the list is empty.
 */
export async function unevenEvents(proxied: ProxiedStack): Promise<string[]> {
  const counts = new Map<string, { emitted: number; published: number }>();
  const count = (what: "emitted" | "published") => (event: { subject: string; id: string }) => {
    const key = `${event.subject} ${event.id}`;
    const known = counts.get(key) ?? { emitted: 0, published: 0 };
    counts.set(key, { ...known, [what]: known[what] + 1 });
  };
  for (const event of await publishedEvents(proxied)) count("published")(event);
  for (const event of await emittedEvents(proxied)) count("emitted")(event);
  return [...counts].flatMap(([key, { emitted, published }]) => {
    const isOlder = key.split(" ")[1]! < proxied.recordedFrom && emitted === 0;
    const isRight = published === 1 && (emitted === 1 || isOlder);
    return isRight ? [] : [`${key} is emitted ${emitted} times, published ${published} times`];
  });
}

const sha256 = (message: Uint8Array): string => createHash("sha256").update(message).digest("hex");

/** SHA-256 (hex) of every message below which `transaction` carries a signature of the signer. */
export function signedMessages(transaction: FlowTransaction): string[] {
  const byServer = transaction.payloadSignatures.some(({ keyId }) => keyId === SERVER_KEY);
  return [
    ...(byServer ? [sha256(payloadMessage(transaction))] : []),
    ...(transaction.envelopeSignatures.length > 0 ? [sha256(envelopeMessage(transaction))] : []),
  ];
}

/** Returns those of these messages (hash, hex) that have no record of having been signed. */
export async function withoutRecord({ query }: ProxiedStack, hashes: readonly string[]): Promise<string[]> {
  const sql = "SELECT DISTINCT message_hash FROM audit_record WHERE verdict = 'signed' AND message_hash = ANY($1)";
  const rows = await query<{ message_hash: string }>("signer", sql, [[...new Set(hashes)]]);
  const recorded = new Set(rows.map((row) => row.message_hash));
  return hashes.filter((hash) => !recorded.has(hash));
}

/** Of a message in hex. */
export const messageHash = (message: string): string => sha256(Buffer.from(message, "hex"));
