import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "@countersign/core";
import { signMessage } from "@countersign/keys/node";
import { createTestDatabase, type TestDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres, type Postgres } from "@countersign/postgres";
import { createLogger } from "@countersign/runtime";
import { afterEach, beforeEach } from "vitest";
import { createAuditLog } from "../audit/audit-log.ts";
import type { SignedCheckpoint } from "../audit/checkpoint.ts";
import { openCheckpointFile, parseSignedLine } from "../audit/checkpoint-file.ts";
import { startCheckpointer } from "../audit/checkpointer.ts";
import { verifyExports } from "../audit/verify-export.ts";
import type { AuditReport } from "../audit/verify-file.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { postgresAuditStore } from "../store/postgres-audit-store.ts";
import { exportAudit } from "../store/prisma-audit-reader.ts";
import { prismaCheckpointStore } from "../store/prisma-checkpoint-store.ts";
import { auditEntry, auditKey, auditKeys, chunksOf, newWriter } from "./audit-fixture.ts";

const logger = createLogger({ name: "test", level: "silent" });
export const accountId = "01900000-0000-7000-8000-000000000001";
/** A database of the test's own, with the signer's migrations. */
export let database: TestDatabase;
export let postgres: Postgres;
export let prisma: PrismaClient;
let directory: string;

beforeEach(async () => {
  database = await createTestDatabase("signer");
  postgres = openPostgres(database.url, { connections: 10 });
  prisma = new PrismaClient({ adapter: postgres.adapter });
  directory = mkdtempSync(join(tmpdir(), "countersign-checkpoints-"));
});
afterEach(async () => {
  await prisma.$disconnect();
  await postgres.close();
  await database.drop();
  rmSync(directory, { recursive: true, force: true });
});

/** Returns the audit log of a signer process. */
export const newAuditLog = (onAlarm = () => {}, clock: Clock = systemClock) =>
  createAuditLog({
    store: postgresAuditStore(postgres),
    writer: newWriter({ startedAt: clock.now() }),
    clock,
    logger,
    signaturesPerMinute: 1_000_000,
    onAlarm,
  });

/** Returns a signer process: its audit log, and a checkpointer with a file. */
export function newAuditProcess(
  name: string,
  file = true,
  { stalledMs = 600_000, clock = systemClock }: { stalledMs?: number; clock?: Clock } = {},
) {
  const path = join(directory, name);
  const state = { alarms: 0 };
  const onAlarm = () => {
    state.alarms += 1;
  };
  const log = newAuditLog(onAlarm, clock);
  const checkpointer = startCheckpointer({
    store: prismaCheckpointStore(prisma),
    signer: {
      version: () => 1,
      sign: async (text) => signMessage(auditKey.privateKey, text, "sha256"),
      keys: auditKeys,
    },
    ownHead: log.head,
    ...(file && { file: openCheckpointFile(path) }),
    intervalMs: 100,
    stalledMs,
    onAlarm,
    clock,
    logger,
  });
  const write = (count: number) =>
    Promise.all(Array.from({ length: count }, () => log.append(auditEntry({ accountId, time: clock.now() }))));
  return { checkpointer, log, path, state, write };
}

export const readCheckpointFile = (path: string): SignedCheckpoint[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => parseSignedLine(line)!);

/** Returns the report of `signer audit verify` about archives and the database now. */
export async function verifyDatabase(
  elsewhere: readonly SignedCheckpoint[] = [],
  archives: readonly (readonly string[])[] = [],
): Promise<AuditReport> {
  const lines: string[] = [];
  for await (const line of exportAudit(prisma)) lines.push(line);
  const files = [...archives, lines].map((each) => chunksOf(each));
  return verifyExports(files, { keys: auditKeys, elsewhere: [{ name: "file", checkpoints: elsewhere }] });
}

/** Returns how many records of open chains are under checkpoints. */
export const countCovered = (): Promise<number> =>
  prisma.auditTree.findMany().then((all) => all.reduce((sum, { size }) => sum + Number(size), 0));
