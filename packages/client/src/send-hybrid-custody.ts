import {
  type HybridCustodyChange,
  hybridCustodyArguments,
  hybridCustodyScript,
  MAX_COMPUTATION,
  type ParentLinkTemplateName,
} from "@countersign/flow";
import type { CountersignClient } from "./countersign-client.ts";
import { type SendParentLinkOptions, sendParentLink } from "./send-parent-link.ts";
import { type SendTransactionOptions, type SentTransaction, sendTransaction } from "./send-transaction.ts";

type Options = Pick<SendTransactionOptions, "network" | "address" | "onSubmitted" | "signal" | "accessApi">;

/**
 * Sets up, redeems, removes or ends links through HybridCustody, by the templates of the network. Errors: as
 * `sendTransaction`.
 */
export function sendHybridCustody(
  client: CountersignClient,
  change: HybridCustodyChange,
  options: Options,
): Promise<SentTransaction> {
  const { hybridCustody } = options.network;
  if (!hybridCustody) throw new Error(`${options.network.chainName} has no HybridCustody to link through`);
  const plain = "other" in change ? { ...change, other: change.other.replace(/^0x/i, "").toLowerCase() } : change;
  return sendTransaction(client, {
    ...options,
    cadence: hybridCustodyScript(change.template, hybridCustody),
    args: hybridCustodyArguments(plain, hybridCustody),
    gasLimit: MAX_COMPUTATION,
    proposer: "server",
  });
}

export interface ParentOptions extends Omit<SendParentLinkOptions, "template" | "other"> {
  /** The parent's address, with or without 0x. */
  parent: string;
}

export interface ChildOptions extends Omit<SendParentLinkOptions, "template" | "other"> {
  /** The child's address, with or without 0x. */
  child: string;
}

type LinkStep = Exclude<HybridCustodyChange["template"], "end-hybrid-custody">;

/** One step of a link, through HybridCustody where the network has it, else through the inbox. */
const step =
  (throughCustody: LinkStep, throughInbox: ParentLinkTemplateName) =>
  (client: CountersignClient, other: string, options: Options): Promise<SentTransaction> =>
    options.network.hybridCustody
      ? sendHybridCustody(client, { template: throughCustody, other }, options)
      : sendParentLink(client, { ...options, template: throughInbox, other });

const offer = step("set-up-hybrid-custody", "publish-parent-link");
const accept = step("redeem-hybrid-custody", "claim-parent-link");
const remove = step("remove-hybrid-custody", "remove-parent-link");

/**
 * Offers this account to a parent, who has to accept it: the child's first step. Errors: as
 * `sendTransaction`.
 */
export const offerToParent = (client: CountersignClient, { parent, ...options }: ParentOptions) =>
  offer(client, parent, options);

/**
 * Accepts a child's offer, for a parent that is an account of the service. The child reports the link with
 * `client.linkParent()` afterwards. Errors: as `sendTransaction`.
 */
export const acceptChild = (client: CountersignClient, { child, ...options }: ChildOptions) =>
  accept(client, child, options);

/**
 * Removes a parent that has accepted or not; report it with `client.linkParent()`. Where a parent's manager
 * makes it fail on chain, `end-hybrid-custody` of `sendHybridCustody` ends all links without calling one.
 * Errors: as `sendTransaction`.
 */
export const removeParent = (client: CountersignClient, { parent, ...options }: ParentOptions) =>
  remove(client, parent, options);
