import { createEarlierDatabase } from "@countersign/dev/testing/postgres.ts";
import { createPrismaAdapter, uuidv7 } from "@countersign/service-kit";
import { expect, it } from "vitest";
import { type AuditEntry, chainRecords, genesisHash, sha256, verifyChain } from "../audit/record.ts";
import { verifyExport } from "../audit/verify-export.ts";
import { auditEntry, auditKeys, chunksOf } from "../testing/audit-fixture.ts";
import { clock } from "../testing/store-fixture.ts";
import { storedRecords } from "../testing/stored-records.ts";
import { PrismaClient } from "./generated/client.ts";
import { exportAudit, prismaAuditReader } from "./prisma-audit-reader.ts";

// What JSON writes in more than one way, and times with zeros at their ends.
const entries = (count: number): AuditEntry[] =>
  Array.from({ length: count }, (_, i) =>
    auditEntry({
      time: new Date(clock.now().getTime() + i * 10),
      policyVersion: ['a "quoted" \\ one', "tab\tand bell\u0007", "ümläut ☃ 𝄞", "</script>", ""][i % 5]!,
      verdict: i % 3 === 0 ? "GasLimit" : "signed",
    }),
  );

it("records that were rows of their own are, byte for byte, texts of batches afterwards", async () => {
  const database = await createEarlierDatabase("signer", "audit_batch");
  const prisma = new PrismaClient({ adapter: createPrismaAdapter(database.url, 2) });
  try {
    const chains = [150, 1].map((count) => {
      const start = { chainId: uuidv7(clock), sequence: 0n };
      return chainRecords({ ...start, hash: genesisHash(start.chainId) }, entries(count));
    });
    for (const records of chains) {
      const head = records.at(-1)!;
      await prisma.$executeRaw`
        INSERT INTO audit_chain VALUES (${head.chainId}::uuid, ${clock.now()}, ${head.sequence}, ${head.hash})`;
      for (const each of records)
        await prisma.$executeRaw`
          INSERT INTO audit_record (chain_id, sequence, time, caller, account_id, session_id, operation, chain_name,
            message_hash, script_hash, verdict, policy_version, key_version, previous_hash, hash)
          VALUES (${each.chainId}::uuid, ${each.sequence}, ${each.time}, ${each.caller}, ${each.accountId}, ${each.sessionId},
            ${each.operation}, ${each.chainName}, ${each.messageHash}, ${each.scriptHash}, ${each.verdict},
            ${each.policyVersion}, ${each.keyVersion}, ${each.previousHash}, ${each.hash})`;
    }
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
    const lines: string[] = [];
    for await (const line of exportAudit(prisma)) lines.push(line);
    expect(await verifyExport(chunksOf(lines), { keys: auditKeys })).toMatchObject({ problems: [], records: 151 });
  } finally {
    await prisma.$disconnect();
    await database.drop();
  }
});
