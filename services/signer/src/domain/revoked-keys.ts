import type { VerifiedToken } from "@countersign/core";
import type { Binding } from "../policy/account.ts";
import { refuse } from "../policy/refusal.ts";
import { sameHolder, type Template } from "../policy/template.ts";

type OfAccount = Pick<Binding, "accountId" | "chainName">;

/** Keys that we signed a revocation of; they are never forgotten. `publicKey`: 128 hex digits; a key and its negation are one. */
export interface RevokedKeys {
  remember(account: OfAccount, publicKey: string, now: Date): Promise<void>;
  has(account: OfAccount, publicKey: string): Promise<boolean>;
}

/**
 * What the chain does not stop: it takes a key again that it has revoked. Nor may a session add its own key: signed now and kept, that brings it back after its revocation.
 * Errors: SigningRefused (BadTemplateArguments).
 */
export async function checkNotBroughtBack(
  revokedKeys: RevokedKeys,
  { change }: Template,
  account: OfAccount,
  token: Pick<VerifiedToken, "scope" | "accountKey">,
): Promise<void> {
  if (!("newKey" in change)) return;
  const { publicKey } = change.newKey;
  if (
    change.template === "add-user-key" &&
    token.scope !== "sign" &&
    sameHolder(token.accountKey.publicKey, publicKey)
  ) {
    refuse("BadTemplateArguments", "the key is on the account");
  }
  if (await revokedKeys.has(account, publicKey)) refuse("BadTemplateArguments", "the key was revoked");
}

/**
 * A session does not revoke the key that it signs with: the key of another device does. So a revocation never
 * takes the last key that the service still accepts: the chain counts keys of removed devices too. Errors:
 * SigningRefused (BadTemplateArguments).
 */
export function checkNotOwnKey({ change }: Template, token: Pick<VerifiedToken, "accountKey">): void {
  if (change.template !== "revoke-user-key" || !sameHolder(token.accountKey.publicKey, change.oldKey)) return;
  refuse("BadTemplateArguments", "a session does not revoke its own key: another device of the account can");
}

/** Before the signature leaves: a revocation that never runs only keeps a key from being added that is there. */
export async function noteRevocation(
  revokedKeys: RevokedKeys,
  { change }: Template,
  account: OfAccount,
  now: Date,
): Promise<void> {
  if ("oldKey" in change) await revokedKeys.remember(account, change.oldKey, now);
}
