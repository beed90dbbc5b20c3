import { AppError } from "@countersign/core";
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
import type { Binding } from "./account.ts";
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

/** Our keys, as a template is compared with them. */
export interface OwnKeys {
  /** The account's, of the bound version. */
  readonly serverKey: PublicKey;
  /** Of the version that the account is to be brought to; undefined where it is at the wanted one. */
  readonly nextServerKey: PublicKey | undefined;
  /** Creator, paymaster, and the account's server keys of every version. */
  readonly others: readonly PublicKey[];
}

/** The one caller whose rotations are signed: it commits what it submits, and reports the seal, without which we would go on with the old key. */
export const ROTATING_CALLER = "account";

/**
 * Around a rotation a template may name the server key that was, or the one that will be, by its index or its bytes: nobody is refused for that, the message is to be made
 * again from the account's keys. Errors: MessageRenewed.
 */
export function checkNotRotatedAway(
  { change }: Template,
  { proposalKey }: Pick<DecodedMessage, "proposalKey">,
  account: Binding,
  retired: readonly PublicKey[],
): void {
  if (change.template === "rotate-server-key") return;
  const named = "serverKey" in change ? change.serverKey : undefined;
  const gone =
    account.retired?.some(({ index }) => index === proposalKey.keyId) ||
    retired.some(({ publicKey }) => publicKey === named);
  const coming = account.rotatingTo !== undefined && proposalKey.keyId !== account.serverKeyIndex;
  if (gone || coming) {
    throw new AppError("MessageRenewed", { retryAfterSeconds: 1, detail: "the account's server key is rotated" });
  }
}

/**
 * What a template may name of our keys: as its server key, the account's own and no other; as a key that comes or goes, none, since one holder of
 * both roles would act alone. A rotation leads from the account's own to the next version, for the account service alone.
 */
export function checkTemplateKeys({ change }: Template, caller: string, own: OwnKeys): void {
  const { serverKey, nextServerKey, others } = own;
  if (change.template === "rotate-server-key") {
    if (change.oldKey !== serverKey.publicKey) refuse("BadTemplateArguments", "the old key is not the account's");
    if (nextServerKey === undefined || change.newServerKey !== nextServerKey.publicKey) {
      refuse("BadTemplateArguments", "the new key is not the next version of the account's");
    }
    if (caller !== ROTATING_CALLER) refuse("BadTemplateArguments", "a rotation is the account service's to ask for");
    return;
  }
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
