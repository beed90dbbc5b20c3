import { AppError } from "@countersign/core";
import type { PublicKey } from "@countersign/keys";
import { cadenceAddressOf, chainNamed } from "../accounts/account-on-chain.ts";
import type { AccountStore } from "../ports.ts";
import type { UnknownTransaction } from "../unknown-transactions.ts";
import type { KeyAdditionChain } from "./key-addition.ts";

export interface VerifyKeyRevocationOptions {
  readonly accounts: Pick<AccountStore, "find">;
  readonly chains: ReadonlyMap<string, KeyAdditionChain>;
  readonly unknownTransaction: UnknownTransaction;
}

export interface VerifyKeyRevocationCommand {
  readonly accountId: string;
  readonly chainName: string;
  readonly publicKey: PublicKey;
  /** 64 hex digits. */
  readonly transactionId: string;
}

const mismatch = (detail: string) => new AppError("TransactionMismatch", { detail });

/**
 * Verifies that the named transaction revoked this key of the account, and that the key is revoked now. Its
 * other effects are not checked: a revocation only takes away.
 * Errors: TransactionPending, TransactionMismatch, AccountNotFound, AccountNotReady, UnknownChain.
 */
export const verifyKeyRevocation =
  ({ accounts, chains, unknownTransaction }: VerifyKeyRevocationOptions) =>
  async (command: VerifyKeyRevocationCommand, signal: AbortSignal): Promise<void> => {
    const chain = chainNamed(chains, command.chainName);
    const address = await cadenceAddressOf(accounts, command.accountId, command.chainName);
    const { status, events } = await chain.keyAdditionOutcome(command.transactionId, signal);
    if (status === "unknown") throw await unknownTransaction(chain, command.transactionId, signal);
    if (status === "pending") throw new AppError("TransactionPending", { retryAfterSeconds: 1 });
    if (status === "expired") throw mismatch("the transaction expired before a block took it");
    if (status !== "sealed") throw mismatch("the transaction failed");
    const revoked = events.flatMap(({ revokedKey }) => (revokedKey?.address === address ? [revokedKey.keyIndex] : []));
    const same = (await chain.accountKeys(address, signal)).filter(
      ({ publicKey }) => publicKey === command.publicKey.publicKey,
    );
    if (!same.some(({ index }) => revoked.includes(index))) throw mismatch("the transaction did not revoke this key");
    if (same.some((key) => !key.revoked)) throw mismatch("the key is on the account still");
  };
