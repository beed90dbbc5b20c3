import type { KeyAlgorithm } from "@countersign/keys";
import type { TokenStateEntry } from "@countersign/proto/auth/v1/token_state.ts";
import { publicKeyToProto } from "@countersign/rpc";
import type { TokenStateStore } from "../tokens/token-state-feed.ts";
import type { PrismaClient, TokenStateEntry as Row } from "./generated/client.ts";

/** `subject` of a blocked key: account id, algorithm and key, by slashes. */
function toEntry({ kind, subject, active, until }: Row): TokenStateEntry | undefined {
  const entry = { active, until: until ?? undefined };
  if (kind === "session") return { ...entry, endedSessionId: subject };
  if (kind === "account") return { ...entry, frozenAccountId: subject };
  if (kind !== "key") return undefined;
  const [accountId = "", algorithm = "", publicKey = ""] = subject.split("/");
  const key = publicKeyToProto({ algorithm: algorithm as KeyAlgorithm, publicKey });
  return { ...entry, blockedKey: { accountId, publicKey: key } };
}

/** Reads the token state in Postgres. */
export function prismaTokenStateStore(prisma: PrismaClient): TokenStateStore {
  return {
    async horizon() {
      const [row] = await prisma.$queryRaw<{ horizon: bigint }[]>`
        SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon`;
      return row!.horizon;
    },
    async changedSince(horizon) {
      // Freezes that were lifted, too: what was signed before them may still run.
      const whole = { OR: [{ active: true }, { kind: "account" }] };
      const where = horizon === undefined ? whole : { txid: { gte: horizon } };
      const rows = await prisma.tokenStateEntry.findMany({ where });
      return rows.flatMap((row) => toEntry(row) ?? []);
    },
  };
}
