import {
  type DecodedMessage,
  type HybridCustodyNetwork,
  readTemplate as readChange,
  type TemplateChange,
  TemplateError,
  type TemplateName,
} from "@countersign/flow";
import { type PublicKey, PublicKeyError, parsePublicKey } from "@countersign/keys";

/** A transaction of the service's own: known text, typed arguments, proposed by the account's server key. */
export interface Template {
  readonly name: TemplateName;
  readonly change: TemplateChange;
}

const NO_KEY = "no key that an account can have";

/**
 * Returns the template that a message runs, or why its arguments cannot be read: they must be exactly the
 * bytes that the service would write. A script that is no template's text has neither. Texts and arguments of
 * the HybridCustody templates depend on the chain. The templates' conditions are in their Cadence, since the
 * signer does not see the chain.
 */
export function readTemplate(
  message: DecodedMessage,
  hybridCustody: HybridCustodyNetwork | undefined,
): { template: Template | undefined; templateProblem: string } {
  try {
    const change = readChange(message, hybridCustody);
    // A key that is no point of its curve would be on the account for good, and nobody could use it.
    if (change && "newKey" in change) parsePublicKey(change.newKey.publicKey, change.newKey.algorithm);
    return { template: change && { name: change.template, change }, templateProblem: "" };
  } catch (error) {
    if (error instanceof PublicKeyError) return { template: undefined, templateProblem: NO_KEY };
    if (error instanceof TemplateError) return { template: undefined, templateProblem: error.message };
    throw error;
  }
}

/** Returns the user key that a template adds; undefined for every other template. */
export const addedUserKey = (template: Template | undefined): PublicKey | undefined =>
  template?.change.template === "add-user-key" ? template.change.newKey : undefined;

/** Returns the recovery key that a template puts on the account; undefined for every other template. */
export const addedRecoveryKey = ({ change }: Template): PublicKey | undefined =>
  change.template === "add-recovery-key" || change.template === "replace-recovery-key" ? change.newKey : undefined;

/** Returns whether a template revokes a user key that is not the session's own. */
export const revokesAnotherKey = ({ change }: Template, accountKey: PublicKey): boolean =>
  change.template === "revoke-user-key" && !sameHolder(change.oldKey, accountKey.publicKey);

/**
 * Returns whether x is equal: the same key, or its negation, which has the same holder. Both 128 hex digits.
 */
export const sameHolder = (a: string, b: string): boolean => a.slice(0, 64) === b.slice(0, 64);
