import { systemClock, uuidv7 } from "@countersign/core";
import { eventRow, linkNats, startOutboxPublisher } from "@countersign/events";
import { openPostgres, sql } from "@countersign/postgres";
import { createLogger, loadTls } from "@countersign/runtime";

/** The settings of the process, which bench/src/outbox.ts passes as JSON. */
export interface OutboxReplica {
  databaseUrl: string;
  natsUrl: string;
  tls: { ca: string; cert: string; key: string };
  eventsPerSecond: number;
}

/** Rows of this time commit together, as the sessions of sign-ins do that wait for the same commit. */
const COMMIT_EVERY_MS = 10;

const { databaseUrl, natsUrl, tls: files, eventsPerSecond } = JSON.parse(process.argv[2]!) as OutboxReplica;
const logger = createLogger({ name: "replica", level: "warn" });
const tls = loadTls(files);
const postgres = openPostgres(databaseUrl, { connections: 5 });
startOutboxPublisher({ nats: linkNats({ natsUrl, tls, name: "device", logger }), postgres, logger });

const started = performance.now();
let emitted = 0;
async function emit(): Promise<void> {
  const due = Math.floor(((performance.now() - started) / 1000) * eventsPerSecond) - emitted;
  if (due === 0) return;
  emitted += due;
  const rows = Array.from({ length: due }, () => {
    const deviceUpdated = { deviceId: uuidv7(systemClock) };
    const context = { accountId: uuidv7(systemClock), occurredAt: new Date() };
    return eventRow("device", "device-updated", context, { deviceUpdated });
  });
  await postgres.execute(sql`
    INSERT INTO outbox (id, subject, payload, created_at, account_id)
    SELECT * FROM unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ subject }) => subject)}::text[],
      ${rows.map(({ payload }) => Buffer.from(payload))}::bytea[],
      ${rows.map(({ createdAt }) => createdAt)}::timestamptz[], ${rows.map(({ accountId }) => accountId)}::uuid[])`);
}
// The benchmark has ended.
process.once("disconnect", () => process.exit());
setInterval(() => void emit().catch((err) => logger.error({ err }, "cannot emit events")), COMMIT_EVERY_MS);
