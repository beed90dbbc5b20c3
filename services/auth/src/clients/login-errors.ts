import { AppError } from "@countersign/core";
import { decodeJwt, errors as jose } from "jose";

/** Returns the error for a login that is not accepted. `detail` goes to the client and holds no secret. */
export const invalidLogin = (detail: string, cause?: unknown): AppError =>
  new AppError("InvalidLoginToken", { detail, cause });

/**
 * Returns a value of a request or token, cut to a length that a text can carry, and nowhere half of a
 * character.
 */
export function quoted(value: unknown): string {
  let text: string;
  try {
    text = JSON.stringify(value) ?? "nothing";
  } catch {
    return "a value that nests too deep"; // JSON.parse reads deeper ones than JSON.stringify writes.
  }
  return text.length <= 120 ? text : `${text.slice(0, 120).toWellFormed()}…`;
}

/** Returns a NumericDate as ISO 8601. */
const timeOf = (seconds: unknown): string => {
  const time = new Date(typeof seconds === "number" ? seconds * 1000 : Number.NaN);
  return Number.isNaN(time.getTime()) ? quoted(seconds) : time.toISOString();
};

/** Returns the unverified `iss` of a JWT: it chooses a provider or explains a refusal, and proves nothing. */
export function issuerOf(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** Returns why jose refused a provider's token. Claims are named only after a good signature. */
export function tokenProblem(cause: unknown, kind: string, provider: string): string {
  if (cause instanceof jose.JWTExpired) {
    const { claim, payload } = cause;
    return claim === "iat"
      ? `The ${kind} was issued at ${timeOf(payload.iat)}, more than 10 minutes ago; log in again`
      : `The ${kind} expired at ${timeOf(payload.exp)}; log in again`;
  }
  if (cause instanceof jose.JWTClaimValidationFailed) {
    const { claim, reason, payload } = cause;
    if (reason === "missing") return `The ${kind} has no claim "${claim}"`;
    if (claim === "iat") return `The ${kind} was issued in the future, at ${timeOf(payload.iat)}`;
    if (claim === "nbf") return `The ${kind} is not valid before ${timeOf(payload.nbf)}`;
    return `The ${kind}'s claim "${claim}" is not valid`;
  }
  if (cause instanceof jose.JOSEAlgNotAllowed) return `The ${kind} is signed with an algorithm that is not accepted`;
  const unknownKey = cause instanceof jose.JWKSNoMatchingKey || cause instanceof jose.JWKSMultipleMatchingKeys;
  if (unknownKey || cause instanceof jose.JWSSignatureVerificationFailed) {
    return `The ${kind}'s signature is of none of the keys of provider "${provider}"`;
  }
  return `The ${kind} is no valid JWT`;
}
