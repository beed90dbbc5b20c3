import { AppError } from "@countersign/core";
import {
  type Assertion,
  type AssertionFacts,
  type AssertionPurpose,
  PasskeyError,
  type PasskeySettings,
  type PublicKey,
  type RelyingParty,
  samePublicKey,
} from "@countersign/keys";
import { verifyAssertion } from "@countersign/keys/node";
import type { ChallengeType, SignInKey } from "../ports.ts";

/** Refuses passkeys that could never sign in. Errors: UnsupportedKey. */
export function requireUsablePasskey(
  passkeys: PasskeySettings,
  appId: string,
  { userKeyType, userKey }: { userKeyType: "device" | "passkey"; userKey: PublicKey },
): void {
  if (userKeyType !== "passkey") return;
  if (userKey.algorithm !== "ES256") throw new AppError("UnsupportedKey", { detail: "A passkey's key is of ES256" });
  if (passkeys.relyingPartiesOf(appId).length === 0) {
    throw new AppError("UnsupportedKey", { detail: "This app has no passkeys here" });
  }
}

/**
 * What kind of challenge a registration answers under the key that was named: the device's identity key
 * beside a passkey is a device key.
 */
export const challengeTypeOf = ({ type, accountKey }: SignInKey, named: PublicKey): ChallengeType =>
  type === "passkey" && samePublicKey(accountKey, named) ? "passkey" : "device-key";

/** An assertion with the registration whose key made it. */
export interface Asserted {
  readonly key: SignInKey;
  readonly facts: AssertionFacts;
}

/**
 * Finds the one of several passkeys that made the assertion. Errors: InvalidSignature, whose detail says what
 * is wrong.
 */
export function findAsserted(
  candidates: readonly SignInKey[],
  assertion: Assertion,
  purpose: AssertionPurpose,
  relyingParties: readonly RelyingParty[],
): Asserted {
  let problem = "no passkey may answer";
  for (const key of candidates) {
    try {
      return { key, facts: verifyAssertion(key.accountKey, assertion, purpose, relyingParties) };
    } catch (error) {
      if (!(error instanceof PasskeyError)) throw error;
      problem = error.message;
    }
  }
  throw new AppError("InvalidSignature", { detail: `The passkey's answer is refused: ${problem}` });
}
