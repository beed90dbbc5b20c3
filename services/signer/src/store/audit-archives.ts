import { insertAction } from "@countersign/admin-actions";
import type { Clock } from "@countersign/core";
import { deleteBatches, deletionOf, type Postgres, type Statement, sql } from "@countersign/postgres";
import { type ArchiveStatement, parseArchive } from "../audit/archive.ts";
import type { SignedText } from "../audit/audit-key.ts";
import { BLOCK_LEAVES } from "../audit/tree.ts";
import type { AuditArchives } from "../domain/admin/archive-audit.ts";
import { REMOVE_COMMAND } from "../domain/admin/remove-audit.ts";
import type { Prisma } from "./generated/client.ts";

/** One file and its verification, which keeps them all in memory, have no more checkpoints. */
const CHECKPOINTS_PER_ARCHIVE = 20_000;
const CHAINS_PER_PAGE = 100;
/** Another administrator's command has locked what is left. */
const LOCKED_MS = 100;
/**
 * Longer than a statement may take: processes compare closed chains, which they read first, with the
 * checkpoints that closed them.
 */
const READERS_MS = 15_000;

/** Returns the statement about the last part that was taken out. */
export async function readLastArchive(client: Pick<Prisma.TransactionClient, "auditArchive">) {
  const rows = await client.auditArchive.findMany({ orderBy: { afterCheckpoint: "desc" } });
  // A copy of a genuine statement under another number would hide where the log begins.
  const row = rows.find(({ text, afterCheckpoint }) => parseArchive(text)?.after === Number(afterCheckpoint));
  return row && { text: row.text, signature: row.signature };
}

/** Returns its content, which nobody has verified. */
export const archiveOf = (signed: SignedText | undefined): ArchiveStatement | undefined =>
  signed && parseArchive(signed.text);

/** Takes parts of the audit log out of Postgres, by deletions that any process can continue. */
export function postgresAuditArchives(
  queries: Postgres,
  prisma: Pick<Prisma.TransactionClient, "auditArchive">,
  clock: Clock,
  readersMs = READERS_MS,
): AuditArchives {
  const deleteAll = (table: string, condition: Statement) => deleteBatches(deletionOf(queries, table, condition));

  return {
    last: () => readLastArchive(prisma),

    async lastBefore(time) {
      const after = archiveOf(await readLastArchive(prisma))?.sequence ?? 0;
      // The checkpointer reads the last checkpoint of each open chain.
      const [row] = await queries.query<{ sequence: bigint | null }>(sql`
        SELECT max(sequence) AS sequence FROM audit_checkpoint
        WHERE sequence > ${after}::bigint AND sequence <= ${after + CHECKPOINTS_PER_ARCHIVE}::bigint
          AND time < ${time}::timestamptz
          AND sequence <= coalesce((
            SELECT min((SELECT checkpoint FROM audit_checkpoint_head h WHERE h.chain_id = t.chain_id AND h.size = t.size))
            FROM audit_tree t), sequence)`);
      return row?.sequence ? Number(row.sequence) : undefined;
    },

    record: (after, { text, signature }, by, { file, request }) =>
      queries.transaction(async (tx) => {
        const count = await tx.execute(sql`
          INSERT INTO audit_archive (after_checkpoint, text, signature) VALUES (${after}::bigint, ${text}, ${signature})
          ON CONFLICT DO NOTHING`);
        if (count === 0) return false;
        const decided = request ? { outcome: "approved", requestId: request.id } : { outcome: "done" };
        await insertAction(tx, by, { command: REMOVE_COMMAND, arguments: { ...file }, ...decided }, clock);
        return true;
      }),

    async *remove({ sequence, heads }, pause) {
      for (const { chainId, size } of heads) {
        // Proofs of later records need the leaves of the block that the archive ends in.
        const full = size - (size % BLOCK_LEAVES);
        yield* deleteAll(
          "audit_batch",
          sql`chain_id = ${chainId}::uuid AND last_sequence <= ${full}::bigint ORDER BY last_sequence`,
        );
        yield* deleteAll(
          "audit_checkpoint_head",
          sql`chain_id = ${chainId}::uuid AND size <= ${size}::bigint AND checkpoint < ${sequence}::bigint ORDER BY size`,
        );
      }
      for (;;) {
        const chains = await queries.query<{ id: string }>(sql`
          SELECT id FROM audit_chain WHERE closed_in <= ${sequence}::bigint ORDER BY id LIMIT ${CHAINS_PER_PAGE}::int`);
        if (chains.length === 0) break;
        let removed = 0;
        for (const { id } of chains) {
          yield* deleteAll("audit_batch", sql`chain_id = ${id}::uuid ORDER BY last_sequence`);
          yield* deleteAll("audit_checkpoint_head", sql`chain_id = ${id}::uuid ORDER BY size`);
          yield* deleteAll("audit_tree_block", sql`chain_id = ${id}::uuid ORDER BY index`);
          // Last, so that rows that others have locked are found again.
          removed += await queries.execute(sql`
            DELETE FROM audit_chain c WHERE id = ${id}::uuid
              AND NOT EXISTS (SELECT FROM audit_batch b WHERE b.chain_id = c.id)
              AND NOT EXISTS (SELECT FROM audit_checkpoint_head h WHERE h.chain_id = c.id)
              AND NOT EXISTS (SELECT FROM audit_tree_block t WHERE t.chain_id = c.id)`);
        }
        yield removed;
        if (removed === 0) await pause(LOCKED_MS);
      }
      await pause(readersMs);
      yield* deleteAll("audit_checkpoint", sql`sequence < ${sequence}::bigint ORDER BY sequence`);
    },
  };
}
