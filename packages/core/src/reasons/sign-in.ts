import type { ReasonEntry } from "./reason-entry.ts";

export const SIGN_IN = {
  InvalidLoginToken: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "The login token was not accepted",
    cause:
      "The identity provider's token failed a check: its time, issuer, audience or signature; `detail` names which. A code may also be used or expired.",
    remedy: "Have the person log in again and send the new token or code at once, within ten minutes.",
  },
  UnknownProvider: {
    grpc: "INVALID_ARGUMENT",
    http: 400,
    title: "No such identity provider",
    cause: "`provider` names no configured identity provider, or is missing where several are possible.",
    remedy: "Send one of the names in `detail`.",
  },
  IdentityProviderUnavailable: {
    grpc: "UNAVAILABLE",
    http: 503,
    title: "The identity provider did not answer",
    cause: "The identity provider did not answer within its time limit.",
    remedy: "Try again after a few seconds; the login token stays usable until it expires.",
  },
  UnsupportedKey: {
    grpc: "INVALID_ARGUMENT",
    http: 400,
    title: "The chain cannot carry this key",
    cause:
      "The chain or this service cannot use a key of this algorithm as an account key, or passkeys are not configured.",
    remedy: "Use P-256 (`ES256`) or secp256k1 (`ES256K`) for account keys, and Ed25519 for identity keys only.",
  },
  InvalidPublicKey: {
    grpc: "INVALID_ARGUMENT",
    http: 400,
    title: "The public key is not valid",
    cause: "The public key is not hex of a known length, or is no point of its curve.",
    remedy: "Send the 64 bytes x‖y as hex, without DER or PEM.",
  },
  KeyBindingRequired: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The login is not bound to this key",
    cause: "The app requires logins that are bound to the device's key, and the login's nonce is another one.",
    remedy: "Log in again with nonce = base64url(SHA-256(public key)) of the key that the request sends.",
  },
  AttestationRequired: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The app must attest itself",
    cause: "The app requires an attestation at sign-up and enrollment, and the request has none.",
    remedy:
      "Give the client `attest`, which makes one with App Attest or Play Integrity. A web page cannot: it needs an app of its own, without attestation.",
  },
  InvalidAttestation: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The attestation was not accepted",
    cause:
      "The attestation failed a check, is for another request, was used before, or is of a platform that the app does not accept; `detail` says which.",
    remedy: "Have the person log in again, make a new attestation for the new request, and send it once.",
  },
  AccountExists: {
    grpc: "ALREADY_EXISTS",
    http: 409,
    title: "The identity has an account already",
    cause: "The identity has an account already.",
    remedy:
      "Sign in by challenge with a registered key, or enroll this device with a 2FA request. Send a full session's access token to add a further network.",
  },
  AccountNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "There is no account for this identity",
    cause: "No account belongs to this identity.",
    remedy: "Sign up first. Check that the person logged in with the same provider and login as before.",
  },
  DeploymentFailed: {
    grpc: "ABORTED",
    http: 502,
    title: "The chain refused the deployment",
    cause: "The chain refused the transaction that creates the account.",
    remedy: "Send the same sign-up again; it starts another attempt.",
  },
  PleaseRegisterKey: {
    grpc: "INVALID_ARGUMENT",
    http: 400,
    title: "The key is not registered",
    cause:
      "The key is not registered for this identity. A challenge answers this also where the identity has no account.",
    remedy:
      "Sign up if the person has no account (`AccountNotFound` from a 2FA request says so); otherwise enroll the device with a 2FA request.",
  },
  InvalidSignature: {
    grpc: "UNAUTHENTICATED",
    http: 401,
    title: "The signature does not verify",
    cause: "The signature does not verify with the named key over the expected bytes.",
    remedy:
      "Sign the decoded bytes of `challengeData` or `message`, not their hex, with the key that the request names.",
  },
  UnknownChallenge: {
    grpc: "INVALID_ARGUMENT",
    http: 400,
    title: "The challenge is unknown or used",
    cause: "The challenge was answered, had five wrong answers, or never existed.",
    remedy: "Ask for a new challenge and answer it once.",
  },
  ChallengeExpired: {
    grpc: "INVALID_ARGUMENT",
    http: 400,
    title: "The challenge has expired",
    cause: "The challenge is older than five minutes.",
    remedy: "Ask for a new challenge and answer it at once.",
  },
  ChallengeTypeMismatch: {
    grpc: "INVALID_ARGUMENT",
    http: 400,
    title: "The challenge was issued for another type",
    cause: "The answer's `challengeType` is not the one of the challenge.",
    remedy: "Answer a `deviceKey` challenge with a device's key and a `passKey` challenge with a passkey.",
  },
} as const satisfies Record<string, ReasonEntry>;
