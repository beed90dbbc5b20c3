import { AppError } from "@countersign/core";
import { envelopeMessage, payloadMessage, voidPayload } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { serverKeyOf } from "../policy/account.ts";
import { type ChainPolicy, paymasterVersion } from "../policy/chain.ts";
import { refusal } from "../policy/refusal.ts";
import type { Decide, SignedMessage } from "./decide.ts";
import type { AccountOnChain, BindingStore, SignedTemplates } from "./ports.ts";

export interface SignVoidCommand extends AccountOnChain {
  /** 64 hex digits. */
  readonly referenceBlockId: string;
  readonly sequenceNumber: bigint;
  /** The name in the caller's certificate. */
  readonly caller: string;
}

export interface SignVoidPorts {
  readonly decide: Decide;
  readonly bindings: Pick<BindingStore, "findCurrent">;
  readonly signedTemplates: Pick<SignedTemplates, "has">;
  /** Auth's token state. */
  readonly freezes: { current(): boolean; isFrozen(accountId: string): boolean };
  chain(name: string): ChainPolicy;
}

/** Nothing was signed for the number, so there is nothing to void. No refusal: no record is written. */
class NothingToVoid extends Error {}

/**
 * Signs, as proposer and as payer, the empty transaction that uses up a sequence number of a frozen account's
 * server key. The signer writes the transaction itself: the caller names no script. Returns undefined where
 * nothing was signed for the number. Errors: see signer.v1.Freezing/SignVoid.
 *
 * Writes: the record of the first signature, then that of the second. A refusal writes its record or
 * nothing.
 * Crash: in between, no signature has left; the account service gets the event of the freeze again, and asks
 * again.
 * Race: two calls for one number both get signatures, of which the chain executes one transaction. A freeze
 * that is lifted after the rules costs the account one sequence number.
 */
export const signVoid =
  ({ decide, bindings, signedTemplates, freezes, chain }: SignVoidPorts) =>
  async (command: SignVoidCommand): Promise<{ payload: SignedMessage; envelope: SignedMessage } | undefined> => {
    const { accountId, chainName, referenceBlockId, sequenceNumber, caller } = command;
    const policy = chain(chainName);
    if (!freezes.current()) throw new AppError("SignerNotCurrent");
    const account = (await bindings.findCurrent(accountId)).find((binding) => binding.chainName === chainName);
    if (!account) throw new AppError("AccountNotReady");
    const { address, serverKeyIndex: keyId } = account;
    const { paymaster } = policy;
    const proposalKey = { address, keyId, sequenceNumber };
    const transaction = voidPayload({ referenceBlockId, proposalKey, payer: paymaster.address });
    // In no limit of signatures per minute: a thief who used it up would keep a template from being voided.
    const requester = { caller, accountId, sessionId: "", limitId: "" };
    try {
      const payload = await decide("transaction", payloadMessage(transaction), requester, async () => {
        if (!freezes.isFrozen(accountId)) throw refusal("NotFrozen", "the account is not frozen");
        if (!(await signedTemplates.has(account, sequenceNumber))) throw new NothingToVoid();
        return { key: serverKeyOf(account), address, keyId };
      });
      const payloadSignatures = [{ address, keyId, signature: bytesToHex(payload.signature) }];
      const paid = envelopeMessage({ ...transaction, payloadSignatures });
      const envelope = await decide("paymaster", paid, requester, async () => ({
        key: { role: "paymaster", chainName, version: paymasterVersion(policy) },
        address: paymaster.address,
        keyId: paymaster.keyId,
      }));
      return { payload, envelope };
    } catch (error) {
      if (error instanceof NothingToVoid) return undefined;
      throw error;
    }
  };
