import {
  type HybridCustodyChange,
  hybridCustodyArguments,
  hybridCustodyScript,
  type ParentLinkTemplateName,
  parentLinkArguments,
  parentLinkScript,
} from "@countersign/flow";
import { plainAddress } from "./chain-account.ts";
import type { CountersignClient } from "./countersign-client.ts";
import { type SendTemplateOptions, sendTemplate } from "./send-transaction.ts";
import type { SentTransaction } from "./wait-for-transaction.ts";

/** Options of `sendParentLink`. */
export interface SendParentLinkOptions extends SendTemplateOptions {
  /** The child publishes and removes, the parent claims. */
  template: ParentLinkTemplateName;
  /** The other account: the parent for the child, the child for the parent. With or without 0x. */
  other: string;
}

/**
 * Offers, claims or removes a link between this account and another one, by one of the service's templates.
 * Report it with `client.linkParent()` afterwards, as the child. Errors: as `sendTransaction`.
 * @example
 * await sendParentLink(client, { network, template: "publish-parent-link", other: "0x01cf0e2f2f715450" });
 */
export const sendParentLink = (
  client: CountersignClient,
  { template, other, ...options }: SendParentLinkOptions,
): Promise<SentTransaction> =>
  sendTemplate(client, {
    ...options,
    cadence: parentLinkScript(template),
    args: parentLinkArguments({ template, other: plainAddress(other) }),
  });

/**
 * Sets up, redeems, removes or ends links through HybridCustody, by the templates of the network. Errors: as
 * `sendTransaction`.
 * @example const { id } = await sendHybridCustody(client, { template: "end-hybrid-custody" }, { network });
 */
export function sendHybridCustody(
  client: CountersignClient,
  change: HybridCustodyChange,
  options: SendTemplateOptions,
): Promise<SentTransaction> {
  const { hybridCustody } = options.network;
  if (!hybridCustody) throw new Error(`${options.network.chainName} has no HybridCustody to link through`);
  return sendTemplate(client, {
    ...options,
    cadence: hybridCustodyScript(change.template, hybridCustody),
    args: hybridCustodyArguments(
      "other" in change ? { ...change, other: plainAddress(change.other) } : change,
      hybridCustody,
    ),
  });
}

/** Options of `offerToParent` and `removeParent`. */
export interface ParentOptions extends SendTemplateOptions {
  /** The parent's address, with or without 0x. */
  parent: string;
}

/** Options of `acceptChild`. */
export interface ChildOptions extends SendTemplateOptions {
  /** The child's address, with or without 0x. */
  child: string;
}

type LinkStep = Exclude<HybridCustodyChange["template"], "end-hybrid-custody">;

/** One step of a link, through HybridCustody where the network has it, else through the inbox. */
const step =
  (throughCustody: LinkStep, throughInbox: ParentLinkTemplateName) =>
  (client: CountersignClient, other: string, options: SendTemplateOptions): Promise<SentTransaction> =>
    options.network.hybridCustody
      ? sendHybridCustody(client, { template: throughCustody, other }, options)
      : sendParentLink(client, { ...options, template: throughInbox, other });

const offer = step("set-up-hybrid-custody", "publish-parent-link");
const accept = step("redeem-hybrid-custody", "claim-parent-link");
const remove = step("remove-hybrid-custody", "remove-parent-link");

/**
 * The child's first step: offers this account to a parent, who has to accept it. Errors: as
 * `sendTransaction`.
 * @example await offerToParent(client, { network, parent: "0x01cf0e2f2f715450" });
 */
export const offerToParent = (client: CountersignClient, { parent, ...options }: ParentOptions) =>
  offer(client, parent, options);

/**
 * The parent's step, where the parent is an account of the service. The child reports the link with
 * `client.linkParent()` afterwards. Errors: as `sendTransaction`.
 * @example await acceptChild(client, { network, child: "0x01cf0e2f2f715450" });
 */
export const acceptChild = (client: CountersignClient, { child, ...options }: ChildOptions) =>
  accept(client, child, options);

/**
 * The child's way out, accepted or not; report it with `client.linkParent()`. Where a parent's manager makes
 * it fail on chain, `end-hybrid-custody` of `sendHybridCustody` ends all links without asking anybody.
 * Errors: as `sendTransaction`.
 * @example
 * await removeParent(client, { network, parent: "0x01cf0e2f2f715450" });
 * await client.linkParent();
 */
export const removeParent = (client: CountersignClient, { parent, ...options }: ParentOptions) =>
  remove(client, parent, options);
