import { AppError } from "@countersign/core";
import type { FollowChain } from "./follow-chain.ts";
import type { ChainDirectory, KeyStore } from "./ports.ts";

interface ReportRevocation<Session> {
  accountId: string;
  /** Canonical hex; the algorithm follows from the registration. */
  publicKey: string;
  /** 64 hex digits. */
  transactionId: string;
  session: Session;
  requestId: string;
}

/**
 * Records a revocation that a client reports, once the chain confirms it. Idempotent.
 * Errors: KeyNotFound, TransactionPending, TransactionMismatch, ChainUnavailable.
 */
export function reportRevocation<Session>(options: {
  store: KeyStore;
  chain: ChainDirectory<Session>;
  follow(command: FollowChain): Promise<void>;
}) {
  const { store, chain, follow } = options;
  return async (command: ReportRevocation<Session>): Promise<void> => {
    const { accountId, publicKey, transactionId, session, requestId } = command;
    const all = await store.list(accountId, { includeRevoked: true });
    const known = all.filter(({ accountKey, keyIndex }) => accountKey.publicKey === publicKey && keyIndex >= 0);
    if (known.length === 0) throw new AppError("KeyNotFound");
    const active = known.find(({ revokedAt }) => revokedAt === null);
    if (!active) return;
    const { chainName, accountKey } = active;
    await chain.verifyRevocation({ accountId, chainName, publicKey: accountKey, transactionId }, session);
    await follow({ accountId, requestId, atLeast: { chainName, height: 0n } });
  };
}
