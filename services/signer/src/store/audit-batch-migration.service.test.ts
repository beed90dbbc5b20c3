import { uuidv7 } from "@countersign/core";
import { createEarlierDatabase } from "@countersign/local-stack/testing/postgres.ts";
import { openPostgres, type Postgres } from "@countersign/postgres";
import { afterEach, beforeEach, expect, it } from "vitest";
import { EXPORT_FORMAT } from "../audit/export-lines.ts";
import { type AuditEntry, type AuditRecord, chainRecords, genesisHash, sha256 } from "../audit/record.ts";
import { verifyExport } from "../audit/verify-export.ts";
import { auditEntry, auditKeys, chunksOf } from "../testing/audit-fixture.ts";
import { clock } from "../testing/store-fixture.ts";
import { storedRecords } from "../testing/stored-records.ts";
import { verifyChain } from "../testing/verify-chain.ts";
import { PrismaClient } from "./generated/client.ts";
import { exportAudit, prismaAuditReader } from "./prisma-audit-reader.ts";
import { readRecordHashes } from "./prisma-checkpoint-store.ts";

// Values that JSON writes in more than one way, and times with zeros at their ends.
const entries = (count: number): AuditEntry[] =>
  Array.from({ length: count }, (_, i) =>
    auditEntry({
      time: new Date(clock.now().getTime() + i * 10),
      policyVersion: ['a "quoted" \\ one', "tab\tand bell\u0007", "ümläut ☃ 𝄞", "</script>", ""][i % 5]!,
      verdict: i % 3 === 0 ? "GasLimit" : "signed",
    }),
  );

let database: Awaited<ReturnType<typeof createEarlierDatabase>>;
let postgres: Postgres;
let prisma: PrismaClient;
beforeEach(async () => {
  database = await createEarlierDatabase("signer", "audit_batch");
  postgres = openPostgres(database.url, { connections: 3 });
  prisma = new PrismaClient({ adapter: postgres.adapter });
});
afterEach(async () => {
  await postgres.close();
  await database.drop();
});

function newChain(count: number): AuditRecord[] {
  const start = { chainId: uuidv7(clock), sequence: 0n };
  return chainRecords({ ...start, hash: genesisHash(start.chainId) }, entries(count));
}

/** As a signer of before wrote them. */
async function writeRows(client: Pick<PrismaClient, "$executeRaw">, records: readonly AuditRecord[]): Promise<void> {
  const head = records.at(-1)!;
  await client.$executeRaw`
    INSERT INTO audit_chain VALUES (${head.chainId}::uuid, ${clock.now()}, ${head.sequence}, ${head.hash})`;
  for (const each of records)
    await client.$executeRaw`
      INSERT INTO audit_record (chain_id, sequence, time, caller, account_id, session_id, operation, chain_name,
        message_hash, script_hash, verdict, policy_version, key_version, previous_hash, hash)
      VALUES (${each.chainId}::uuid, ${each.sequence}, ${each.time}, ${each.caller}, ${each.accountId}, ${each.sessionId},
        ${each.operation}, ${each.chainName}, ${each.messageHash}, ${each.scriptHash}, ${each.verdict},
        ${each.policyVersion}, ${each.keyVersion}, ${each.previousHash}, ${each.hash})`;
}

async function exported(): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of exportAudit(prisma)) lines.push(line);
  return lines;
}

it("records that were rows of their own are, byte for byte, texts of batches afterwards", async () => {
  const chains = [newChain(150), newChain(1)];
  for (const records of chains) await writeRows(prisma, records);
  await database.migrate();

  const byPlace = chains.flat().sort((a, b) => (a.chainId < b.chainId ? -1 : 1));
  const stored = await storedRecords(prisma);
  expect(stored.map(({ text }) => text)).toEqual(byPlace.map(({ text }) => text));
  expect(stored.map(({ hash }) => hash)).toEqual(byPlace.map(({ text }) => sha256(text)));
  for (const records of chains) {
    const { chainId, sequence, hash } = records.at(-1)!;
    const its = stored.filter((record) => record.chainId === chainId);
    expect(verifyChain(its, { chainId, sequence, hash })).toBe("");
  }
  const reader = prismaAuditReader(prisma);
  for (const { chainId, sequence, text } of [chains[0]![63]!, chains[0]![64]!, chains[1]![0]!])
    expect(await reader.recordText(chainId, sequence)).toBe(text);
  // A checkpoint of before ends wherever it did, not where a batch does.
  for (const [from, to] of [
    [0, 100],
    [100, 150],
    [63, 65],
    [64, 128],
    [10, 20],
  ] as const) {
    const hashes = await readRecordHashes(prisma, chains[0]![0]!.chainId, from, to);
    expect(hashes.map((hash) => hash.toString("hex"))).toEqual(chains[0]!.slice(from, to).map(({ hash }) => hash));
  }
  // They were written before batches were signed: they cannot be distinguished from forged ones.
  const report = await verifyExport(chunksOf(await exported()), { keys: auditKeys });
  expect(report).toMatchObject({
    problems: byPlace
      .filter(({ sequence }) => sequence === 1n)
      .map(({ chainId }) => `chain ${chainId}: its records are not signed`),
    records: 151,
  });
});

it("a signer of before that still writes loses no record: what it commits is taken along, and what comes later is refused", async () => {
  const [late, later] = [newChain(3), newChain(1)];
  const waiting = async () => {
    const rows = await prisma.$queryRaw<unknown[]>`
      SELECT 1 AS one FROM pg_locks l JOIN pg_database d ON d.oid = l.database
      WHERE NOT l.granted AND d.datname = current_database()`;
    return rows.length;
  };
  let migrated: Promise<void> | undefined;
  let refused: Promise<unknown> | undefined;
  await prisma.$transaction(
    async (tx) => {
      await writeRows(tx, late);
      migrated = database.migrate();
      await expect.poll(waiting).toBe(1);
      refused = expect(prisma.$transaction((other) => writeRows(other, later))).rejects.toThrow();
      await expect.poll(waiting).toBe(2);
    },
    { timeout: 30_000 },
  );
  await migrated;
  await refused;
  const stored = await storedRecords(prisma);
  expect(stored.map(({ text }) => text)).toEqual(late.map(({ text }) => text));
  const report = await verifyExport(chunksOf(await exported()), { keys: auditKeys });
  expect(report).toMatchObject({ problems: [expect.stringContaining("are not signed")], records: 3, chains: 1 });
});

it("an empty log is migrated too", async () => {
  await database.migrate();
  expect(await storedRecords(prisma)).toEqual([]);
  expect(await exported()).toEqual([EXPORT_FORMAT, "end"]);
});
