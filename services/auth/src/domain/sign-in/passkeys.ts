import { AppError } from "@countersign/core";
import {
  type Assertion,
  type AssertionPurpose,
  PasskeyError,
  type PublicKey,
  type RelyingParty,
  samePublicKey,
} from "@countersign/keys";
import { verifyAssertion } from "@countersign/keys/node";
import type { ChallengeType, PasskeyCounter, SignInKey } from "./ports.ts";

/**
 * Returns the type of challenge that a registration answers with the named key: the device's identity key
 * beside a passkey is a device key.
 */
export const challengeTypeOf = ({ type, accountKey }: SignInKey, named: PublicKey): ChallengeType =>
  type === "passkey" && samePublicKey(accountKey, named) ? "passkey" : "device-key";

/** Returns the passkey that made the assertion, with its counter. Errors: InvalidSignature. */
export function findAsserted(
  candidates: readonly PublicKey[],
  assertion: Assertion,
  purpose: AssertionPurpose,
  relyingParties: readonly RelyingParty[],
): PasskeyCounter {
  let problem = "no passkey may answer";
  for (const key of candidates) {
    try {
      return { key, signCount: verifyAssertion(key, assertion, purpose, relyingParties).signCount };
    } catch (error) {
      if (!(error instanceof PasskeyError)) throw error;
      problem = error.message;
    }
  }
  throw new AppError("InvalidSignature", { detail: `The passkey's answer is refused: ${problem}` });
}
