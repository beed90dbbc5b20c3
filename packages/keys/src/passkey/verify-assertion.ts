import { createHash } from "node:crypto";
import type { PublicKey } from "../public-key.ts";
import { verifySignature } from "../verify-signature.ts";
import { type Assertion, type AssertionFacts, type AssertionPurpose, inspectAssertion } from "./assertion.ts";
import { PasskeyError } from "./passkey-error.ts";
import type { RelyingParty } from "./relying-party.ts";

/**
 * Verifies an assertion, for every purpose of passkeys: it must be of exactly this key, for this purpose,
 * from one of these relying parties. Throws PasskeyError. The caller compares the counter with the stored
 * one.
 * @example const { signCount } = verifyAssertion(publicKey, assertion, { login: challenge }, relyingParties);
 */
export function verifyAssertion(
  key: PublicKey,
  assertion: Assertion,
  purpose: AssertionPurpose,
  relyingParties: readonly RelyingParty[],
): AssertionFacts {
  const facts = inspectAssertion(assertion, purpose, relyingParties);
  const { authenticatorData, clientDataJSON, signature } = assertion;
  const signed = Buffer.concat([authenticatorData, createHash("sha256").update(clientDataJSON).digest()]);
  if (key.algorithm !== "ES256" || !verifySignature(key, signed, signature)) {
    throw new PasskeyError("signature", "the signature is not this passkey's");
  }
  return facts;
}
