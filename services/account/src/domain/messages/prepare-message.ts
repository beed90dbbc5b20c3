import { AppError, chainNamed, invalidField } from "@countersign/core";
import {
  activeKey,
  type CadenceValue,
  completeKeyChange,
  encodeCadence,
  type HybridCustodyChange,
  type HybridCustodyNetwork,
  heavyKeys,
  hybridCustodyArguments,
  hybridCustodyScript,
  keyChangeArguments,
  keyTemplateScript,
  MAX_COMPUTATION,
  type ParentLinkChange,
  parentLinkArguments,
  parentLinkScript,
  payloadMessage,
  type WantedKeyChange,
} from "@countersign/flow";
import { cadenceAddressOf, requireFlowKey, serverKeyOf } from "../accounts/account-on-chain.ts";
import type { AccountKey, KeyAdditionChain } from "../key-additions/key-addition.ts";
import type { AccountOnChain, AccountStore } from "../ports.ts";

/** The chain, as far as preparing messages needs it. */
export type MessageChain = Pick<KeyAdditionChain, "chainName" | "paymaster" | "latestBlock" | "accountKeys"> & {
  /** Undefined where accounts do not link themselves through HybridCustody. */
  readonly hybridCustody?: HybridCustodyNetwork | undefined;
};

/** A change of an account's keys or links. User keys are added by a 2FA request, which registers them too. */
export type WantedChange =
  | Exclude<WantedKeyChange, { template: "add-user-key" }>
  | ParentLinkChange
  | HybridCustodyChange;

export interface PrepareMessageCommand extends AccountOnChain {
  readonly change: WantedChange;
}

/**
 * Prepares the payload of a template for the account's device to sign: proposed by the server key at its next
 * sequence number, paid by the paymaster, and in the one form that the signer signs. Rejects changes that the
 * chain would certainly refuse. Stores nothing: the next call returns a message with a newer reference block.
 * Errors: UnknownChain, AccountNotFound, AccountNotReady, UnsupportedKey, KeyNotFound, KeyAlreadyRegistered,
 * InvalidRequest.
 */
export const prepareMessage =
  ({ accounts, chains }: { accounts: Pick<AccountStore, "find">; chains: ReadonlyMap<string, MessageChain> }) =>
  async ({ accountId, chainName, change }: PrepareMessageCommand, signal: AbortSignal): Promise<Uint8Array> => {
    const chain = chainNamed(chains, chainName);
    const address = await cadenceAddressOf(accounts, accountId, chainName);
    if ("other" in change && change.other === address) {
      throw invalidField("/address", "Is the account's own address");
    }
    const [keys, latest] = await Promise.all([chain.accountKeys(address, signal), chain.latestBlock(signal)]);
    const { index: keyId, sequenceNumber } = serverKeyOf(keys);
    const { script, values } = transactionOf(change, keys, chain);
    return payloadMessage({
      script,
      arguments: values.map(encodeCadence),
      referenceBlockId: latest.id,
      gasLimit: MAX_COMPUTATION,
      proposalKey: { address, keyId, sequenceNumber },
      payer: chain.paymaster,
      authorizers: [address],
    });
  };

function transactionOf(
  change: WantedChange,
  keys: readonly AccountKey[],
  { chainName, hybridCustody }: MessageChain,
): { script: string; values: CadenceValue[] } {
  switch (change.template) {
    case "publish-parent-link":
    case "claim-parent-link":
    case "remove-parent-link":
      return { script: parentLinkScript(change.template), values: parentLinkArguments(change) };
    case "set-up-hybrid-custody":
    case "redeem-hybrid-custody":
    case "remove-hybrid-custody":
    case "end-hybrid-custody":
      if (!hybridCustody) throw invalidField("/template", `${chainName} has no HybridCustody to link through`);
      return {
        script: hybridCustodyScript(change.template, hybridCustody),
        values: hybridCustodyArguments(change, hybridCustody),
      };
    default:
      requirePossible(change, keys, chainName);
      return {
        script: keyTemplateScript(change.template),
        values: keyChangeArguments(completeKeyChange(change, heavyKeys(keys))),
      };
  }
}

/**
 * Checks the template's conditions on the account's keys. Errors: UnsupportedKey, KeyNotFound,
 * KeyAlreadyRegistered.
 */
function requirePossible(
  change: Exclude<WantedKeyChange, { template: "add-user-key" }>,
  keys: readonly AccountKey[],
  chainName: string,
): void {
  const { recoveryKey } = heavyKeys(keys);
  if (change.template === "revoke-user-key") {
    if (!activeKey(keys, "user", change.oldKey)) throw new AppError("KeyNotFound");
    return;
  }
  if (change.template === "add-recovery-key" && recoveryKey !== undefined) {
    throw new AppError("KeyAlreadyRegistered", { detail: "The account has a recovery key; use replace-recovery-key" });
  }
  if (change.template !== "add-recovery-key" && recoveryKey === undefined) {
    throw new AppError("KeyNotFound", { detail: "The account has no recovery key on this chain" });
  }
  if (!("newKey" in change)) return;
  requireFlowKey(chainName, change.newKey);
  // An equal x is the key itself or its negation, which has the same holder.
  const x = change.newKey.publicKey.slice(0, 64);
  if (keys.some(({ revoked, publicKey }) => !revoked && publicKey.startsWith(x))) {
    throw new AppError("KeyAlreadyRegistered");
  }
}
