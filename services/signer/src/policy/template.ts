import {
  type DecodedMessage,
  type HybridCustodyChange,
  type HybridCustodyNetwork,
  type HybridCustodyTemplateName,
  type KeyChange,
  type KeyTemplateName,
  MAX_COMPUTATION,
  type ParentLinkChange,
  type ParentLinkTemplateName,
  readHybridCustodyChange,
  readKeyChange,
  readParentLinkChange,
  TemplateError,
} from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { refuse } from "./refusal.ts";

/** A transaction of ours: known text, typed arguments, proposed by the account's server key. */
export interface Template {
  readonly name: KeyTemplateName | ParentLinkTemplateName | HybridCustodyTemplateName;
  readonly change: KeyChange | ParentLinkChange | HybridCustodyChange;
  readonly gasLimit: bigint;
}

/**
 * Which template a message runs, if any; texts and arguments about HybridCustody are the chain's own. Its conditions stand in its Cadence: the signer does not see the chain. Errors: SigningRefused
 * (BadTemplateArguments) where the text is a template's and the arguments are not what we would write.
 */
export function templateOf(
  message: DecodedMessage,
  hybridCustody: HybridCustodyNetwork | undefined,
): Template | undefined {
  try {
    const change =
      readKeyChange(message) ?? readParentLinkChange(message) ?? readHybridCustodyChange(message, hybridCustody);
    return change && { name: change.template, change, gasLimit: MAX_COMPUTATION };
  } catch (error) {
    if (error instanceof TemplateError) return refuse("BadTemplateArguments", error.message);
    throw error;
  }
}

/** The user key that a template adds; undefined for every other template. */
export const addedUserKey = (template: Template | undefined): PublicKey | undefined =>
  template?.change.template === "add-user-key" ? template.change.newKey : undefined;

/** Equal x: the same key, or its negation, which has the same holder. */
export const sameHolder = (a: string, b: string): boolean => a.slice(0, 64) === b.slice(0, 64);

/**
 * What a template may name of our keys: as its server key, the account's own and no other; as a key that comes or goes, none, since one holder of
 * both roles would act alone. `others`: creator and paymaster.
 */
export function checkTemplateKeys({ change }: Template, serverKey: PublicKey, others: readonly PublicKey[]): void {
  if ("serverKey" in change && change.serverKey !== serverKey.publicKey) {
    refuse("BadTemplateArguments", "the server key is not the account's");
  }
  const named = ["newKey" in change ? change.newKey.publicKey : "", "oldKey" in change ? change.oldKey : ""];
  const ours = [serverKey, ...others];
  if (named.some((key) => key !== "" && ours.some((own) => sameHolder(own.publicKey, key)))) {
    refuse("BadTemplateArguments", "the key is one of the service's");
  }
}

/** A link is between two accounts: the chain says so too, but what can be known here is refused here. */
export function checkTemplateParties({ change }: Template, address: string): void {
  if ("other" in change && change.other === address) {
    refuse("BadTemplateArguments", "an account is not its own parent");
  }
}
