import type { KeyRole } from "./account-model.ts";
import { type HybridCustodyChange, type HybridCustodyTemplateName, readHybridCustodyChange } from "./hybrid-custody.ts";
import type { HybridCustodyNetwork } from "./hybrid-custody-scripts.ts";
import { type KeyChange, type KeyTemplateName, readKeyChange } from "./key-templates.ts";
import { type ParentLinkChange, type ParentLinkTemplateName, readParentLinkChange } from "./parent-links.ts";
import type { ScriptCall } from "./template-arguments.ts";

/** The change that one of the templates makes. */
export type TemplateChange = KeyChange | ParentLinkChange | HybridCustodyChange;

/** The core's own events that a template causes for the account that authorizes it. */
export interface TemplateEffects {
  /** The role of the one key that it adds: `flow.AccountKeyAdded`. */
  readonly adds?: KeyRole;
  /** Other events, by type. */
  readonly events?: readonly string[];
}

/** Every name; rotations are asked for by the service itself. */
export type TemplateName = KeyTemplateName | ParentLinkTemplateName | HybridCustodyTemplateName;

const REMOVES = ["flow.AccountKeyRemoved"];

/**
 * Every template must be listed here: an unlisted one would look like a change by a third party
 * (docs/chain-watch.md).
 */
const EFFECTS: Readonly<Record<TemplateName, TemplateEffects>> = {
  "add-user-key": { adds: "user" },
  "add-recovery-key": { adds: "recovery" },
  "replace-recovery-key": { adds: "recovery", events: REMOVES },
  "revoke-recovery-key": { events: REMOVES },
  "revoke-user-key": { events: REMOVES },
  "rotate-server-key": { adds: "server", events: REMOVES },
  "publish-parent-link": { events: ["flow.AccountCapabilityControllerIssued", "flow.InboxValuePublished"] },
  "claim-parent-link": { events: ["flow.InboxValueClaimed"] },
  "remove-parent-link": { events: ["flow.AccountCapabilityControllerDeleted"] },
  // HybridCustody itself offers the link in the child's inbox, and takes an offer back.
  "set-up-hybrid-custody": { events: ["flow.AccountCapabilityControllerIssued", "flow.InboxValuePublished"] },
  "redeem-hybrid-custody": { events: ["flow.InboxValueClaimed"] },
  "remove-hybrid-custody": { events: ["flow.AccountCapabilityControllerDeleted", "flow.InboxValueUnpublished"] },
  "end-hybrid-custody": { events: ["flow.AccountCapabilityControllerDeleted", "flow.InboxValueUnpublished"] },
};

/**
 * Returns the core's own events that a template causes.
 * @example templateEffects({ template: "add-user-key", newKey: deviceKey }).adds; // => "user"
 */
export const templateEffects = ({ template }: TemplateChange): TemplateEffects => EFFECTS[template];

/**
 * Returns the bytes of the key that a change adds, 128 hex digits; undefined where it adds none.
 * @example addsKeyOf({ template: "add-user-key", newKey: deviceKey }) === deviceKey.publicKey; // => true
 */
export function addsKeyOf(change: TemplateChange): string | undefined {
  if ("newKey" in change) return change.newKey.publicKey;
  const { newServerKey } = change as { newServerKey?: string };
  return newServerKey;
}

/**
 * Returns which template a transaction runs, and its effect; `hybridCustody`: of its network. Undefined where
 * it runs another script. Errors: TemplateError, as of the readers of the templates.
 * @example const template = readTemplate(transaction, hybridCustody)?.template ?? "a custom script";
 */
export const readTemplate = (
  payload: ScriptCall,
  hybridCustody: HybridCustodyNetwork | undefined,
): TemplateChange | undefined =>
  readKeyChange(payload) ?? readParentLinkChange(payload) ?? readHybridCustodyChange(payload, hybridCustody);
