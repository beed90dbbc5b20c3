import { type Clock, isAppError } from "@countersign/core";
import {
  createAccountsArguments,
  envelopeMessage,
  type FlowTransaction,
  MAX_COMPUTATION,
  transactionId,
} from "@countersign/flow";
import type { CreationSigner, CreationStore, SignedCreation } from "../ports.ts";
import type { Chain, DeployedAccount } from "./chain.ts";
import { type CreatedAccount, type Creation, isRefusedForNow, planAfterFailure } from "./creation.ts";

export interface CreateAccountsOptions {
  readonly store: CreationStore;
  readonly signer: CreationSigner;
  readonly clock: Clock;
  /** Names this runner in the leases. */
  readonly owner: string;
  pause(ms: number, signal: AbortSignal): Promise<void>;
}

/** FVM error 1118: the payer has not enough FLOW. Halves of the creation would fail too. */
const CANNOT_PAY = /error code:? ?1118/i;

/** Thrown when another runner has the lease: this one must not touch the creation any more. */
class LeaseLostError extends Error {}

const POLL_MS = 20;
const MAX_POLL_MS = 500;
const RESUBMIT_MS = 2_000;

const held = (done: boolean): void => {
  if (!done) throw new LeaseLostError();
};

/**
 * Drives a creation from any state to its end: signs, commits the bytes, submits, watches, binds, commits the
 * addresses.
 * Steps may be repeated; committed bytes are submitted again and not signed again while they could still
 * execute. A signature uses the server keys of the current version, which is then bound; if the version
 * changes between deriving and signing (MessageRenewed), the error is thrown and the creation is taken up
 * again.
 */
export function createAccounts({ store, signer, clock, owner, pause }: CreateAccountsOptions) {
  async function sign(creation: Creation, chain: Chain, signal: AbortSignal): Promise<SignedCreation> {
    const { chainName, accountIds, keyIndex } = creation;
    const { address } = chain.creator;
    const [{ version: serverKeyVersion, publicKeys: serverKeys }, block, sequenceNumber] = await Promise.all([
      signer.deriveServerKeys(chainName, accountIds),
      chain.latestBlock(signal),
      creation.sequenceNumber ?? chain.sequenceNumber(keyIndex, signal),
    ]);
    const accounts = accountIds.map((_, i) => ({ serverKey: serverKeys[i]!, userKey: creation.userKeys[i]! }));
    const unsigned: FlowTransaction = {
      script: chain.creationScript,
      arguments: createAccountsArguments(accounts),
      referenceBlockId: block.id,
      gasLimit: MAX_COMPUTATION,
      proposalKey: { address, keyId: keyIndex, sequenceNumber },
      payer: address,
      authorizers: [address],
      payloadSignatures: [],
      envelopeSignatures: [],
    };
    const signature = await signer.signCreation(chainName, envelopeMessage(unsigned), accountIds);
    const transaction = { ...unsigned, envelopeSignatures: [signature] };
    return {
      transaction,
      transactionId: transactionId(transaction),
      sequenceNumber,
      referenceHeight: block.height,
      serverKeys: serverKeys.map((key) => key.publicKey),
      serverKeyVersion,
    };
  }

  /** Assigns addresses to accounts by server key, never by the order of the accounts. */
  async function finish(
    creation: Creation,
    chain: Chain,
    { serverKeys, serverKeyVersion, transaction }: SignedCreation,
    deployed: readonly DeployedAccount[],
  ) {
    const byKey = new Map(deployed.map((account) => [account.serverKey, account]));
    const created = creation.accountIds.map((accountId, i): CreatedAccount => {
      const account = byKey.get(serverKeys[i]!);
      if (!account) throw new Error(`creation ${creation.id}: no account with the server key of ${accountId}`);
      const { address, evmAddress, serverKeyIndex } = account;
      return { accountId, address, evmAddress, serverKeyIndex };
    });
    const { chainName } = chain;
    const bind = () =>
      Promise.all(created.map((account) => signer.bindAddress({ ...account, chainName, serverKeyVersion })));
    await bind().catch(async (error: unknown) => {
      if (!isAppError(error, "SigningRefused") || error.metadata.reason !== "BindingConflict") throw error;
      // A signer whose database lost a commit does not know that it signed this one: signing the same bytes
      // again costs nothing.
      await signer.signCreation(chainName, envelopeMessage(transaction), creation.accountIds);
      await bind();
    });
    held(await store.sealed(creation.id, owner, created, { evmChainId: chain.evmChainId, now: clock.now() }));
  }

  const fail = async (creation: Creation, cause: string, retry: boolean) =>
    held(
      await store.failed(
        creation.id,
        owner,
        planAfterFailure(CANNOT_PAY.test(cause) ? 1 : creation.accountIds.length, retry),
        cause.slice(0, 500),
      ),
    );

  /**
   * Ends a creation whose sequence number is not the key's at this height: a twin of its transaction with
   * another id used it, or another transaction.
   */
  async function settleConsumed(
    creation: Creation,
    chain: Chain,
    signed: SignedCreation,
    { cause, height }: { cause: string; height: bigint },
    signal: AbortSignal,
  ): Promise<void> {
    const deployed = await chain.findDeployed(signed, signed.referenceHeight, height, signal);
    if (deployed.length > 0) await finish(creation, chain, signed, deployed);
    else await fail(creation, cause, true);
  }

  /**
   * Resolves bytes that are too old to execute: by a twin that executed, or a replacement. Returns whether it
   * is final.
   */
  async function settleExpired(
    creation: Creation,
    chain: Chain,
    signed: SignedCreation,
    height: bigint,
    signal: AbortSignal,
  ): Promise<boolean> {
    const onChain = await chain.sequenceNumber(creation.keyIndex, signal, height);
    if (onChain === signed.sequenceNumber) {
      held(await store.replace(creation.id, owner));
      return false;
    }
    const cause = "the sequence number was used without the accounts";
    await settleConsumed(creation, chain, signed, { cause, height }, signal);
    return true;
  }

  /**
   * Watches until the creation is final (true) or must be signed again with the same sequence number (false).
   */
  async function watch(
    creation: Creation,
    chain: Chain,
    signed: SignedCreation,
    submittedAt: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    for (let wait = POLL_MS; ; wait = Math.min(wait * 1.5, MAX_POLL_MS)) {
      signal.throwIfAborted();
      const outcome = await chain.outcome(signed.transactionId, signal);
      if (outcome.status === "sealed") {
        await finish(creation, chain, signed, outcome.accounts);
        return true;
      }
      if (outcome.status === "failed") {
        const { cause, wrongSequenceAt: height } = outcome;
        if (height === undefined) await fail(creation, cause, false);
        else await settleConsumed(creation, chain, signed, { cause, height }, signal);
        return true;
      }
      if (outcome.status === "unknown" || outcome.status === "expired") {
        const { height } = await chain.latestBlock(signal);
        const tooOld = height - signed.referenceHeight > chain.maxReferenceAge;
        if (tooOld) return settleExpired(creation, chain, signed, height, signal);
        if (clock.now().getTime() - submittedAt >= RESUBMIT_MS) {
          await chain.submit(signed.transaction, signal);
          submittedAt = clock.now().getTime();
          continue;
        }
      }
      await pause(wait, signal);
    }
  }

  return async function run(creation: Creation, chain: Chain, signal: AbortSignal): Promise<void> {
    try {
      let current = creation;
      for (;;) {
        let signed = committed(current);
        // The node may know bytes that were committed before, and is asked first.
        let submittedAt = Number.NEGATIVE_INFINITY;
        if (!signed) {
          try {
            signed = await sign(current, chain, signal);
          } catch (error) {
            // Any other refusal is final: the batch is split. Nothing of it can be on chain.
            if (!isRefusedForNow(error) && isAppError(error, "SigningRefused", "InvalidMessage"))
              return await fail(current, error.message, false);
            throw error;
          }
          held(await store.signed(current.id, owner, signed));
          await chain.submit(signed.transaction, signal);
          submittedAt = clock.now().getTime();
        }
        if (await watch(current, chain, signed, submittedAt, signal)) return;
        current = { ...current, state: "assigned", transaction: undefined, sequenceNumber: signed.sequenceNumber };
      }
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error;
    }
  };
}

/** Returns the transaction that was committed as signed, if one was. */
function committed(creation: Creation): SignedCreation | undefined {
  const { state, transaction, transactionId: id, sequenceNumber, referenceHeight } = creation;
  if (state !== "signed" || !transaction || sequenceNumber === undefined || referenceHeight === undefined)
    return undefined;
  const { serverKeys, serverKeyVersion } = creation;
  return { transaction, transactionId: id, sequenceNumber, referenceHeight, serverKeys, serverKeyVersion };
}
