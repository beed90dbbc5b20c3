import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reportFailure } from "@countersign/build/fail.ts";
import { eventStreams, parsePartitions } from "@countersign/events/stream.ts";
import { ensureCertificates, readTls, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { createDatabases } from "@countersign/local-stack/databases.ts";
import { startNats } from "@countersign/local-stack/nats.ts";
import { freePort } from "@countersign/local-stack/ports.ts";
import { startPostgres } from "@countersign/local-stack/postgres.ts";
import { inTemporaryState } from "@countersign/local-stack/temporary-state.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";
import { migrate } from "@countersign/migrations/migrate.ts";
import { command, runCommand, UsageError } from "@countersign/runtime/command.ts";
import { connect } from "nats";
import pg from "pg";
import { quantile } from "./load.ts";
import { cpuSeconds } from "./memory.ts";
import type { OutboxReplica } from "./outbox-replica.ts";

interface Load {
  seconds: number;
  rate: number;
  replicas: number;
  everySeconds: number;
  partitions: number;
}

const TABLE = `SELECT pg_total_relation_size('outbox')::float8 / 1024 AS kib, (SELECT count(*) FROM outbox)::int AS rows,
  (SELECT n_dead_tup::int FROM pg_stat_user_tables WHERE relname = 'outbox') AS dead`;

/** Returns the milliseconds since 1970 at which a UUIDv7 was made. */
const timeOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

async function measure(stateDir: string, load: Load): Promise<void> {
  const { natsServer } = await ensureTools(console.error);
  await ensureCertificates(stateDir);
  const postgres = await startPostgres({ stateDir, port: await freePort(), logFile: join(stateDir, "postgres.log") });
  const natsPort = await freePort();
  const nats = await startNats({
    binary: natsServer,
    stateDir,
    port: natsPort,
    partitions: load.partitions,
    logFile: join(stateDir, "nats.log"),
  });
  const replicas: ChildProcess[] = [];
  const natsUrl = `tls://127.0.0.1:${natsPort}`;
  // The device service may read what NATS republishes.
  const { ca, cert, key } = readTls(tlsFiles(stateDir, "device"));
  const tls = { ca: ca.toString(), cert: cert.toString(), key: key.toString() };
  const connection = await connect({ servers: natsUrl, tls });
  const database = new pg.Client({ connectionString: postgres.urlOf("device") });
  try {
    await createDatabases(postgres);
    await migrate("device", postgres.urlOf("device"));
    await database.connect();

    let lags: number[] = [];
    for (const { feed } of eventStreams(load.partitions)) {
      connection.subscribe(feed, {
        callback(error, message) {
          if (error) throw error;
          lags.push(Date.now() - timeOf(message.headers!.get("Nats-Msg-Id")));
        },
      });
    }
    await connection.flush();
    const eventsPerSecond = load.rate / load.replicas;
    const files = tlsFiles(stateDir, "device");
    const replica: OutboxReplica = { databaseUrl: postgres.urlOf("device"), natsUrl, tls: files, eventsPerSecond };
    for (let i = 0; i < load.replicas; i++) {
      replicas.push(fork(join(import.meta.dirname, "outbox-replica.ts"), [JSON.stringify(replica)]));
    }

    const used = () => ({
      replicas: replicas.reduce((sum, { pid }) => sum + cpuSeconds(pid!), 0),
      postgres: cpuSeconds(postgres.child.pid),
      nats: cpuSeconds(nats.pid),
    });
    let before = used();
    console.log("seconds  events/s  lag p50 ms  p99 ms  max ms  rows  dead rows  table KiB  CPU µs per event");
    for (let second = 0; second < load.seconds; second += load.everySeconds) {
      await sleep(load.everySeconds * 1000);
      const sorted = lags.toSorted((a, b) => a - b);
      lags = [];
      const after = used();
      const cpu = (["replicas", "postgres", "nats"] as const).map((each) => {
        const seconds = after[each] - before[each];
        // The time of a connection's process is lost when it ends.
        return `${each} ${seconds < 0 ? "?" : Math.round((seconds / sorted.length) * 1e6)}`;
      });
      before = after;
      const { rows } = await database.query<{ kib: number; rows: number; dead: number }>(TABLE);
      const [table] = rows;
      const figures = [
        second + load.everySeconds,
        Math.round(sorted.length / load.everySeconds),
        quantile(sorted, 0.5),
        quantile(sorted, 0.99),
        sorted.at(-1),
        table?.rows,
        table?.dead,
        table?.kib,
      ];
      console.log([...figures, cpu.join(", ")].join("  "));
    }
  } finally {
    for (const replica of replicas) replica.kill("SIGKILL");
    await database.end();
    await connection.close();
    await nats.stop();
    await postgres.child.stop();
  }
}

const outbox = command({
  usage: "[--seconds <n>] [--rate <events per second>] [--replicas <n>] [--every <seconds>] [--partitions <n>]",
  about: "Emits events through the outbox of one service with several replicas; prints lag and the table's size.",
  options: {
    seconds: { type: "string", default: "600" },
    rate: { type: "string", default: "2000" },
    replicas: { type: "string", default: "3" },
    every: { type: "string", default: "60" },
    partitions: { type: "string", default: "1" },
  },
  async run({ values }) {
    const [seconds, rate, replicas] = [Number(values.seconds), Number(values.rate), Number(values.replicas)];
    const [everySeconds, partitions] = [Number(values.every), parsePartitions(values.partitions)];
    if (!(seconds > 0 && rate > 0 && replicas > 0 && everySeconds > 0)) throw new UsageError(this.usage);
    const load = { seconds, rate, replicas, everySeconds, partitions };
    await inTemporaryState("outbox", (stateDir) => measure(stateDir, load));
  },
});

await runCommand("node bench/src/outbox.ts", [outbox], reportFailure);
