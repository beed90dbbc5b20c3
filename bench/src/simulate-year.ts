import { createHash } from "node:crypto";
import type { ServiceName } from "@countersign/build/paths.ts";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { openPostgres, type PoolOptions, type Postgres, sql } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { deleteExpiredRows as deleteOfAccount } from "../../services/account/src/store/delete-expired-rows.ts";
import { deleteExpiredRows as deleteOfAuth } from "../../services/auth/src/store/delete-expired-rows.ts";
import { PrismaClient as DevicePrisma } from "../../services/device/src/store/generated/client.ts";
import { prismaDeliveryStore } from "../../services/device/src/store/prisma-delivery-store.ts";
import { prismaTwoFactorStore } from "../../services/device/src/store/prisma-two-factor-store.ts";
import { createAuditLog } from "../../services/signer/src/audit/audit-log.ts";
import { certificateText } from "../../services/signer/src/audit/batch.ts";
import { startCheckpointer } from "../../services/signer/src/audit/checkpointer.ts";
import { deleteExpiredRows as deleteOfSigner } from "../../services/signer/src/store/delete-expired-rows.ts";
import { PrismaClient as SignerPrisma } from "../../services/signer/src/store/generated/client.ts";
import { postgresAuditStore } from "../../services/signer/src/store/postgres-audit-store.ts";
import { prismaCheckpointStore } from "../../services/signer/src/store/prisma-checkpoint-store.ts";
import { GROWING, TRAFFIC } from "./year-traffic.ts";

const DAY_MS = 24 * 3_600_000;
const MONTHS = 12;
const BEGIN = Date.UTC(2026, 0, 1);
const monthAt = (month: number) => new Date(BEGIN + month * 28 * DAY_MS);
const SERVICES = ["auth", "device", "account", "signer"] as const satisfies ServiceName[];
type Service = (typeof SERVICES)[number];
export type Urls = Readonly<Record<Service, string>>;

/** The rows of a table after the jobs of the fourth and of the last month, and its size in the end. */
export interface TableSize {
  readonly table: string;
  readonly early: number;
  readonly late: number;
  readonly kib: number;
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

/** Returns the same database, with the longest statement kept in `job`. */
function timed(postgres: Postgres, job: () => JobTime): Postgres {
  const measure = async <T>(work: Promise<T>): Promise<T> => {
    const began = performance.now();
    try {
      return await work;
    } finally {
      job().statement = Math.max(job().statement, performance.now() - began);
    }
  };
  return {
    ...postgres,
    query: (statement) => measure(postgres.query(statement)),
    execute: (statement) => measure(postgres.execute(statement)),
  };
}

/**
 * Writes a year of traffic of `accounts` accounts and `starts` starts of signer processes a day through
 * the real schemas, and runs the real periodic jobs after each month, on the backlog of all of it; the audit
 * log's chains and checkpoints day by day.
 */
export async function simulateYear(urls: Urls, accounts: number, starts: number, say: (line: string) => void) {
  const open = (options?: PoolOptions) =>
    Object.fromEntries(SERVICES.map((name) => [name, openPostgres(urls[name], options)])) as Record<Service, Postgres>;
  const databases = open();
  const writers = open({ connections: 1, timeouts: { statementMs: 0, queryMs: 600_000 } });
  const jobs = new Map<string, JobTime>();
  let current: JobTime = { job: "", early: 0, late: 0, statement: 0 };
  const measured = (service: Service) => timed(databases[service], () => current);
  const device = new DevicePrisma({ adapter: databases.device.adapter });
  const signer = new SignerPrisma({ adapter: databases.signer.adapter });
  const problems: string[] = [];
  let now = monthAt(0);
  const clock = { now: () => now };

  async function run(job: string, month: number, work: () => Promise<unknown>): Promise<void> {
    current = jobs.get(job) ?? { job, early: 0, late: 0, statement: 0 };
    jobs.set(job, current);
    for (let isMore: unknown = true; isMore === true; ) {
      const began = performance.now();
      isMore = await work();
      const ms = performance.now() - began;
      if (month < MONTHS / 4) current.early = Math.max(current.early, ms);
      if (month >= MONTHS - MONTHS / 4) current.late = Math.max(current.late, ms);
    }
  }

  const requests = prismaTwoFactorStore(device);
  const deliveries = prismaDeliveryStore(device);
  const ago = (days: number) => new Date(now.getTime() - days * DAY_MS);
  const housekeeping: Record<string, () => Promise<unknown>> = {
    "auth: housekeeping": () => deleteOfAuth(measured("auth"))(now),
    "account: housekeeping": () => deleteOfAccount(measured("account"))(now),
    "signer: housekeeping": () => deleteOfSigner(measured("signer"))(now),
    "device: forget requests": () => requests.forget(ago(30)),
    "device: forget deliveries": () => deliveries.forgetDeliveries(ago(8)),
  };

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
    });
  }

  const sizes = async (): Promise<Map<string, { rows: number; kib: number }>> => {
    const found = new Map<string, { rows: number; kib: number }>();
    for (const name of SERVICES) {
      await writers[name].execute(sql`VACUUM ANALYZE`);
      const tables = await databases[name].query<{ table: string; kib: number }>(sql`
        SELECT relname AS table, (pg_total_relation_size(oid) / 1024)::int AS kib FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT LIKE '\\_prisma%'`);
      for (const { table, kib } of tables) {
        const text = `SELECT count(*)::int AS rows FROM "${table}"`;
        const [row] = await databases[name].query<{ rows: number }>({ name: `count ${table}`, text, values: [] });
        if (row!.rows > 0) found.set(`${name}.${table}`, { rows: row!.rows, kib });
      }
    }
    return found;
  };

  let early = new Map<string, { rows: number; kib: number }>();
  for (let month = 0; month < MONTHS; month += 1) {
    for (const name of SERVICES)
      for (const [i, text] of TRAFFIC[name]!.entries()) {
        now = monthAt(month);
        await writers[name].execute({ name: `${name} ${i}`, text, values: [now, accounts, month] });
      }
    for (let day = 0; day < 28; day += 1) {
      now = new Date(monthAt(month).getTime() + day * DAY_MS);
      for (let i = 0; i < starts; i += 1) await startProcess();
      await run("signer: audit checkpoint", month, async () => {
        const checkpointer = startCheckpointer(checkpoints);
        await checkpointer.close();
      });
    }
    now = monthAt(month + 1);
    for (const [job, work] of Object.entries(housekeeping)) await run(job, month, work);
    say(
      `month ${month + 1}: ${[...jobs.values()].map((each) => `${each.job} ${Math.round(each.statement)} ms`).join(", ")}`,
    );
    if (month === 3) early = await sizes();
  }
  const late = await sizes();
  await device.$disconnect();
  await signer.$disconnect();
  for (const each of [databases, writers]) for (const name of SERVICES) await each[name].close();

  const tables = [...late].map(([table, { rows, kib }]) => ({
    table,
    early: early.get(table)?.rows ?? 0,
    late: rows,
    kib,
  }));
  for (const { table, early: before, late: after } of tables)
    if (!GROWING.has(table.split(".")[1]!) && after > before * 1.1 + 10)
      problems.push(`${table} grew from ${before} rows in month 4 to ${after} in month 12`);
  for (const { job, early: before, late: after, statement } of jobs.values()) {
    if (statement > MAX_STATEMENT_MS) problems.push(`a statement of ${job} took ${Math.round(statement)} ms`);
    if (after > before * MAX_GROWTH + NOISE_MS)
      problems.push(
        `${job} took ${Math.round(before)} ms in the first quarter and ${Math.round(after)} ms in the last`,
      );
  }
  return { tables, jobs: [...jobs.values()], problems } satisfies Year;
}
