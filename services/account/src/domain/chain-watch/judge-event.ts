import {
  addsKeyOf,
  type ChainTransaction,
  type HybridCustodyNetwork,
  KEY_ROLES,
  keyRoleOf,
  readTemplate,
  type TemplateChange,
  TemplateError,
  templateEffects,
} from "@countersign/flow";
import type { AccountKey } from "../key-additions/key-addition.ts";
import type { AccountEvent } from "./account-event.ts";

/** The transactions on a network that are ours, besides the templates. */
export interface OwnTransactions {
  /** The text of the creation transaction. */
  readonly creationScript: string;
  /** `address`: 16 hex digits. */
  readonly creator: { readonly address: string };
  /** Absent where the network has no set-up of it. */
  readonly hybridCustody?: HybridCustodyNetwork | undefined;
}

/**
 * Returns whether a transaction of ours caused the event: a creation, or a template with the arguments that
 * the service writes, proposed by the account's server key and authorized by that account alone, whose
 * effects include the event.
 * `proposer`: reads the account's key of an index; a revoked one counts, since it may have been rotated
 * since. The list of all keys may be too long to be read.
 */
export async function isOurs(
  event: AccountEvent,
  transaction: ChainTransaction,
  ours: OwnTransactions,
  proposer: (index: number) => Promise<AccountKey>,
): Promise<boolean> {
  if (transaction.script === ours.creationScript) return isCreation(event, transaction, ours);
  const change = templateOf(transaction, ours.hybridCustody);
  if (change === undefined || !fits(event, change)) return false;
  const { authorizers, proposalKey } = transaction;
  if (authorizers.length !== 1 || authorizers[0] !== event.address || proposalKey.address !== event.address)
    return false;
  return keyRoleOf(await proposer(proposalKey.keyId)) === "server";
}

/** Returns whether the event is one of the first two keys of a creation that the creator alone signed. */
function isCreation({ addedKey }: AccountEvent, transaction: ChainTransaction, { creator }: OwnTransactions): boolean {
  const { authorizers, proposalKey, payer } = transaction;
  const byCreator =
    authorizers.length === 1 && [authorizers[0], proposalKey.address, payer].every((a) => a === creator.address);
  if (!byCreator || addedKey === undefined) return false;
  const role = (["server", "user"] as const).find((each) => KEY_ROLES[each].initialIndex === addedKey.keyIndex);
  // The lists of server and user keys are the first two arguments, in the order of the indexes.
  return (
    role !== undefined &&
    keyRoleOf(addedKey) === role &&
    !!transaction.arguments[addedKey.keyIndex]?.includes(addedKey.publicKey)
  );
}

function templateOf(
  transaction: ChainTransaction,
  hybridCustody: HybridCustodyNetwork | undefined,
): TemplateChange | undefined {
  try {
    return readTemplate({ script: transaction.script, arguments: [...transaction.arguments] }, hybridCustody);
  } catch (error) {
    // Our text with arguments that we would not write is not ours.
    if (error instanceof TemplateError) return undefined;
    throw error;
  }
}

function fits({ type, addedKey }: AccountEvent, change: TemplateChange): boolean {
  const { adds, events = [] } = templateEffects(change);
  if (addedKey === undefined) return events.includes(type);
  return adds !== undefined && keyRoleOf(addedKey) === adds && addedKey.publicKey === addsKeyOf(change);
}
