import { open } from "node:fs/promises";
import { createPrismaAdapter } from "@countersign/postgres";
import { command, loadEnv, UsageError } from "@countersign/runtime";
import { z } from "zod";
import { PrismaClient } from "../store/generated/client.ts";
import { exportAudit } from "../store/prisma-audit-reader.ts";

const LINES_PER_WRITE = 1000;

/** `signer audit export`: all checkpoints, chains and records of the database in one file. */
export const auditExport = command({
  usage: "audit export --out <file>",
  about: "Writes all checkpoints, chains and records of the database to one file.",
  options: { out: { type: "string" } },
  async run({ values: { out }, env, print }) {
    if (!out) throw new UsageError(this.usage);
    const { SIGNER_DATABASE_URL } = loadEnv(z.object({ SIGNER_DATABASE_URL: z.string() }), env);
    const prisma = new PrismaClient({ adapter: createPrismaAdapter(SIGNER_DATABASE_URL) });
    const file = await open(out, "w", 0o600);
    let count = 0;
    let lines: string[] = [];
    const flush = async () => {
      if (lines.length > 0) await file.writeFile(`${lines.join("\n")}\n`);
      count += lines.length;
      lines = [];
    };
    try {
      for await (const line of exportAudit(prisma)) {
        lines.push(line);
        if (lines.length === LINES_PER_WRITE) await flush();
      }
      await flush();
      await file.sync();
    } finally {
      await file.close();
      await prisma.$disconnect();
    }
    print(`${count} lines in ${out}`);
    return 0;
  },
});
