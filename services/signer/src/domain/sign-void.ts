import { AppError, type Clock } from "@countersign/core";
import { envelopeMessage, payloadMessage, voidPayload } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { refuse } from "../policy/refusal.ts";
import { type ChainPolicy, paymasterVersion } from "../policy/transaction.ts";
import type { Decide, SignedMessage } from "./decide.ts";
import type { BindingStore, SignedTemplates } from "./ports.ts";
import { serverKeyOf } from "./sign-transaction.ts";

export interface SignVoidCommand {
  readonly accountId: string;
  readonly chainName: string;
  /** 64 hex digits. */
  readonly referenceBlockId: string;
  readonly sequenceNumber: bigint;
  readonly caller: string;
}

export interface SignVoidOptions {
  readonly decide: Decide;
  readonly bindings: BindingStore;
  readonly signedTemplates: SignedTemplates;
  readonly freezes: { current(): boolean; isFrozen(accountId: string): boolean };
  readonly clock: Clock;
  chain(name: string): ChainPolicy;
}

/** Nothing was signed for the number: nothing is signed now. */
class NothingToVoid extends Error {}

/**
 * Both signatures of the empty transaction that uses up a sequence number of a frozen account's server key; undefined where nothing was signed for it. What is signed is written here: the caller names
 * no script. Errors: see signer.v1.Freezing/SignVoid.
 */
export const signVoid =
  ({ decide, bindings, signedTemplates, freezes, chain }: SignVoidOptions) =>
  async (command: SignVoidCommand): Promise<{ payload: SignedMessage; envelope: SignedMessage } | undefined> => {
    const { accountId, chainName, referenceBlockId, sequenceNumber, caller } = command;
    const policy = chain(chainName);
    if (!freezes.current()) throw new AppError("SignerNotCurrent");
    const account = (await bindings.find(accountId)).find((binding) => binding.chainName === chainName);
    if (!account) throw new AppError("AccountNotReady");
    const { address, serverKeyIndex: keyId } = account;
    const { paymaster } = policy;
    const transaction = voidPayload({
      referenceBlockId,
      proposalKey: { address, keyId, sequenceNumber },
      payer: paymaster.address,
    });
    // In nobody's limit: who has used up the account's would keep what was signed from being voided.
    const asker = { caller, accountId, sessionId: "", countedAs: "" };
    try {
      const payload = await decide("transaction", payloadMessage(transaction), asker, async () => {
        if (!freezes.isFrozen(accountId)) refuse("NotFrozen", "the account is not frozen");
        if (!(await signedTemplates.has(account, sequenceNumber))) throw new NothingToVoid();
        return { key: serverKeyOf(account), address, keyId };
      });
      const payloadSignatures = [{ address, keyId, signature: bytesToHex(payload.signature) }];
      const paid = envelopeMessage({ ...transaction, payloadSignatures });
      const version = paymasterVersion(policy);
      const envelope = await decide("paymaster", paid, asker, async () => ({
        key: { role: "paymaster", chainName, version },
        address: paymaster.address,
        keyId: paymaster.keyId,
      }));
      return { payload, envelope };
    } catch (error) {
      if (error instanceof NothingToVoid) return undefined;
      throw error;
    }
  };
