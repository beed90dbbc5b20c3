import type { PublicKey } from "@countersign/keys";
import {
  mismatch,
  type NamedTransaction,
  type NamedTransactionOptions,
  pending,
  sealedTransaction,
} from "./named-transaction.ts";

/**
 * Verifies that the named transaction revoked this key of the account, and that the key is revoked now. Its
 * other effects are not checked: a revocation only takes away.
 * Errors: TransactionPending, TransactionMismatch, AccountNotFound, AccountNotReady, UnknownChain.
 */
export const verifyKeyRevocation =
  (options: NamedTransactionOptions) =>
  async (command: NamedTransaction & { readonly publicKey: PublicKey }, signal: AbortSignal): Promise<void> => {
    const { chain, address, events } = await sealedTransaction(options, command, signal);
    const revoked = events.flatMap(({ revokedKey }) => (revokedKey?.address === address ? [revokedKey.keyIndex] : []));
    const same = (await chain.accountKeys(address, signal)).filter(
      ({ publicKey }) => publicKey === command.publicKey.publicKey,
    );
    if (!same.some(({ index }) => revoked.includes(index))) throw mismatch("the transaction did not revoke this key");
    // A node that lags behind: a revoked key is never active again.
    if (same.some((key) => !key.revoked && revoked.includes(key.index))) throw pending();
    if (same.some((key) => !key.revoked)) throw mismatch("the key is on the account still");
  };
