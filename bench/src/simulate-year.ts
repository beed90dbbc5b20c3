import { createHash } from "node:crypto";
import { type ServiceName, services } from "@countersign/build/paths.ts";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { openPostgres, type PoolOptions, sql } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { createAuditLog } from "../../services/signer/src/audit/audit-log.ts";
import { certificateText } from "../../services/signer/src/audit/batch.ts";
import { startCheckpointer } from "../../services/signer/src/audit/checkpointer.ts";
import { postgresAuditStore } from "../../services/signer/src/store/postgres-audit-store.ts";
import { prismaCheckpointStore } from "../../services/signer/src/store/prisma-checkpoint-store.ts";
import { createYearJobs, type Databases } from "./year-jobs.ts";
import { GROWING, PAST_RETENTION, SIGN_UPS, TRAFFIC } from "./year-traffic.ts";

const DAY_MS = 24 * 3_600_000;
const MONTHS = 12;
const BEGIN = Date.UTC(2026, 0, 1);
const monthAt = (month: number) => new Date(BEGIN + month * 28 * DAY_MS);
export type Urls = Readonly<Record<ServiceName, string>>;

/** The rows of a table after the jobs of the fourth and of the last month, and its size in the end. */
export interface TableSize {
  readonly table: string;
  readonly early: number;
  readonly late: number;
  readonly kib: number;
  /** Rows that the jobs have deleted in the whole year. */
  readonly deleted: number;
}
/** Milliseconds: a job's longest run in the first and in the last quarter, and its longest statement. */
export interface JobTime {
  readonly job: string;
  early: number;
  late: number;
  statement: number;
}
export interface Year {
  readonly tables: readonly TableSize[];
  readonly jobs: readonly JobTime[];
  readonly problems: readonly string[];
}

/** Statements that a job may take, of the ten seconds after which Postgres cancels them. */
const MAX_STATEMENT_MS = 5_000;
/** Runs of a job with nothing left over from earlier months differ by the machine's other work. */
const MAX_GROWTH = 2;
const NOISE_MS = 500;

/**
 * Writes a year of traffic of `accounts` accounts and `starts` starts of signer processes a day through
 * the real schemas, and runs the real periodic jobs after each month, on the backlog of all of it; the audit
 * log's chains and checkpoints day by day.
 */
export async function simulateYear(urls: Urls, accounts: number, starts: number, say: (line: string) => void) {
  const open = (options?: PoolOptions) =>
    Object.fromEntries(services.map((name) => [name, openPostgres(urls[name], options)])) as Databases;
  const databases = open();
  const writers = open({ connections: 1, timeouts: { statementMs: 0, queryMs: 600_000 } });
  const times = new Map<string, JobTime>();
  let current: JobTime = { job: "", early: 0, late: 0, statement: 0 };
  const problems: string[] = [];
  let now = monthAt(0);
  const clock = { now: () => now };
  const { jobs, signer, close } = createYearJobs(databases, clock, (ms) => {
    current.statement = Math.max(current.statement, ms);
  });

  async function run(job: string, month: number, work: () => Promise<unknown>): Promise<void> {
    current = times.get(job) ?? { job, early: 0, late: 0, statement: 0 };
    times.set(job, current);
    for (let isMore: unknown = true; isMore === true; ) {
      const began = performance.now();
      isMore = await work();
      const ms = performance.now() - began;
      if (month < MONTHS / 4) current.early = Math.max(current.early, ms);
      if (month >= MONTHS - MONTHS / 4) current.late = Math.max(current.late, ms);
    }
  }

  const auditKey = generateKeyPair();
  const logger = createLogger({ name: "year", level: "silent" });
  const checkpoints = {
    store: prismaCheckpointStore(signer),
    signer: {
      version: () => 1,
      sign: async (text: Uint8Array) => signMessage(auditKey.privateKey, text, "sha256"),
      keys: new Map([[1, auditKey.publicKey]]),
    },
    ownHead: () => undefined,
    intervalMs: DAY_MS,
    onAlarm: () => problems.push(`an alarm of the audit log on ${now.toISOString()}`),
    clock,
    logger,
  };
  /** Starts a signer process, which signs once. */
  async function startProcess(): Promise<void> {
    const writer = generateKeyPair();
    const { publicKey } = writer;
    const text = certificateText({ writerId: crypto.randomUUID(), startedAt: now, keyVersion: 1, publicKey });
    const signature = Buffer.from(await checkpoints.signer.sign(Buffer.from(text))).toString("hex");
    const log = createAuditLog({
      store: postgresAuditStore(databases.signer),
      writer: {
        certificate: { text, signature },
        sign: (batch) => signMessage(writer.privateKey, batch, "sha256"),
      },
      clock,
      logger,
      signaturesPerMinute: 1e6,
    });
    const hash = createHash("sha256").update(text).digest("hex");
    await log.append({
      time: now,
      caller: "gateway",
      accountId: crypto.randomUUID(),
      sessionId: crypto.randomUUID(),
      operation: "transaction",
      chainName: "flow-mainnet",
      messageHash: hash,
      scriptHash: hash,
      verdict: "signed",
      policyVersion: "year",
      keyVersion: 1,
      limitId: crypto.randomUUID(),
    });
  }

  type Size = Pick<TableSize, "kib" | "deleted"> & { rows: number };
  const sizes = async (): Promise<Map<string, Size>> => {
    const found = new Map<string, Size>();
    for (const name of services) {
      await writers[name].execute(sql`VACUUM ANALYZE`);
      const tables = await databases[name].query<Omit<Size, "rows"> & { table: string }>(sql`
        SELECT relname AS table, (pg_total_relation_size(relid) / 1024)::int AS kib, n_tup_del::int AS deleted
        FROM pg_stat_user_tables WHERE relname NOT LIKE '\\_prisma%'`);
      for (const { table, ...size } of tables) {
        const text = `SELECT count(*)::int AS rows FROM "${table}"`;
        const [row] = await databases[name].query<{ rows: number }>({ name: `count ${table}`, text, values: [] });
        if (row!.rows + size.deleted > 0) found.set(`${name}.${table}`, { rows: row!.rows, ...size });
      }
    }
    return found;
  };

  /** Runs a month's statements, or those of the sign-ups. */
  async function write(what: string, statements: typeof TRAFFIC, month: number): Promise<void> {
    const values = [monthAt(month), accounts, month];
    const ofService = async (name: keyof Urls) => {
      for (const [i, text] of statements[name].entries())
        await writers[name].execute({ name: `${what} ${i}`, text, values });
    };
    await Promise.all(services.map(ofService));
  }
  async function checkRetention(): Promise<void> {
    for (const name of services)
      for (const [table, condition] of PAST_RETENTION[name]) {
        const text = `SELECT count(*)::int AS count FROM ${table} WHERE ${condition.replaceAll("$1", "$1::timestamptz")}`;
        const [row] = await writers[name].query<{ count: number }>({ name: `late ${table}`, text, values: [now] });
        if (row!.count > 0) problems.push(`${name}.${table} has ${row!.count} rows past their retention`);
      }
  }

  let early = new Map<string, Size>();
  await write("sign-ups", SIGN_UPS, 0);
  for (let month = 0; month < MONTHS; month += 1) {
    await write("traffic", TRAFFIC, month);
    for (let day = 0; day < 28; day += 1) {
      now = new Date(monthAt(month).getTime() + day * DAY_MS);
      for (let i = 0; i < starts; i += 1) await startProcess();
      await run("signer: audit checkpoint", month, async () => {
        const checkpointer = startCheckpointer(checkpoints);
        await checkpointer.close();
      });
    }
    now = monthAt(month + 1);
    for (const [job, work] of Object.entries(jobs)) await run(job, month, work);
    await checkRetention();
    const took = [...times.values()].map(({ job, statement }) => `${job} ${Math.round(statement)} ms`);
    say(`month ${month + 1}, longest statements: ${took.join(", ")}`);
    if (month === 3) early = await sizes();
  }
  const late = await sizes();
  await close();
  for (const each of [databases, writers]) for (const name of services) await each[name].close();

  const tables = [...late].map(([table, { rows, kib, deleted }]) => ({
    table,
    early: early.get(table)?.rows ?? 0,
    late: rows,
    kib,
    deleted,
  }));
  for (const { table, early: before, late: after } of tables)
    if (!GROWING.has(table.split(".")[1]!) && after > before * 1.1 + 10)
      problems.push(`${table} grew from ${before} rows in month 4 to ${after} in month 12`);
  for (const { job, early: before, late: after, statement } of times.values()) {
    if (statement > MAX_STATEMENT_MS) problems.push(`a statement of ${job} took ${Math.round(statement)} ms`);
    if (after > before * MAX_GROWTH + NOISE_MS)
      problems.push(
        `${job} took ${Math.round(before)} ms in the first quarter and ${Math.round(after)} ms in the last`,
      );
  }
  return { tables, jobs: [...times.values()], problems } satisfies Year;
}
