import type { Reason } from "@countersign/core";

/** Codes that any operation answers only when a part is broken, and where they are tested instead. */
export const WHEN_BROKEN: Partial<Record<Reason, string>> = {
  Unavailable: "gateway/src/routes/errors.test.ts has it answered by every route; tests/faults break the real parts",
  DeadlineExceeded: "as Unavailable",
  Internal: "an error of ours: gateway/src/routes/errors.test.ts, and packages/core for unknown errors",
};

const PROVIDER_AWAY = "the stack's provider is never away: services/auth/src/clients/verify-login.test.ts";
const CHAIN_AWAY =
  "the stack's chain node is never away for this operation: tests/e2e/names.test.ts has it for GET keys";
const KEY_BINDING = "services/auth/src/clients/verify-login.test.ts, at clients with keyBinding: required";
const TOKEN_STATE_AWAY = "the stack's token state is never old: packages/access-tokens/src/verifier.test.ts";
const MALFORMED_PATH = "only of a malformed %-sequence, which is refused before a row is found";
const AT_OPENING = "services/device/src/domain/two-factor/open-two-factor.test.ts";
const AT_APPROVING = "services/device/src/domain/two-factor/approve-two-factor.test.ts";
const ROTATION =
  "services/signer/src/policy/rotation.test.ts; tests/faults/server-key-rotation.test.ts rotates for real";

/**
 * Documented codes that no test makes the real stack answer, by operation: the reason, or where the rule
 * behind the code is tested. gateway/src/routes/errors.test.ts tests that the gateway forwards each of them.
 */
export const UNANSWERED: Readonly<Record<string, Partial<Record<Reason, string>>>> = {
  signUp: { KeyBindingRequired: KEY_BINDING, IdentityProviderUnavailable: PROVIDER_AWAY },
  issueChallenge: { KeyBindingRequired: KEY_BINDING, IdentityProviderUnavailable: PROVIDER_AWAY },
  requestTwoFactor: {
    KeyBindingRequired: KEY_BINDING,
    IdentityProviderUnavailable: PROVIDER_AWAY,
    TooManyDevices: AT_OPENING,
    TooManyKeys: AT_OPENING,
    ChainUnavailable: AT_OPENING,
  },
  finishTwoFactor: {
    PleaseRegisterKey: "services/auth/src/domain/two-factor/finish-two-factor.test.ts",
    DeviceConflict: "services/device/src/domain/devices/register-device.test.ts",
    TooManyDevices: "services/device/src/domain/devices/register-device.test.ts",
    TooManyKeys: "services/key/src/domain/register-key.test.ts",
  },
  getTwoFactor: { InvalidRequest: MALFORMED_PATH },
  rejectTwoFactor: { InvalidRequest: MALFORMED_PATH },
  approveTwoFactor: {
    UnsupportedKey: "an account key on Flow is never of Ed25519",
    TooManyDevices: AT_APPROVING,
    TooManyKeys: AT_APPROVING,
    AccountNotReady: "an account with a request to approve is on chain",
    SignerNotCurrent: TOKEN_STATE_AWAY,
    ChainUnavailable: AT_OPENING,
  },
  removeDevice: { ChainUnavailable: "services/key/src/domain/describe-access.test.ts" },
  registerRecoveryKey: { ChainUnavailable: CHAIN_AWAY },
  reportRevocation: { ChainUnavailable: CHAIN_AWAY },
  linkParent: { ChainUnavailable: CHAIN_AWAY },
  prepareMessage: {
    RateLimited: "the stack's limits are a hundred times as high: services/account/src/rpc/limit-per-minute.test.ts",
    ChainUnavailable: CHAIN_AWAY,
  },
  listServerKeyRotations: {
    AccountNotReady: "an account whose chain shows no server key of ours any more",
    ChainUnavailable: CHAIN_AWAY,
  },
  rotateServerKey: {
    InvalidSignature: "services/account/src/domain/server-keys/server-key-rotation.test.ts",
    SigningRefused: "the signer refuses only what the account service has refused before",
    AccountFrozen: "the signer's answer, as to signTransaction, once another version is wanted",
    SignerNotCurrent: TOKEN_STATE_AWAY,
    ChainUnavailable: CHAIN_AWAY,
  },
  signTransaction: { MessageRenewed: ROTATION, SignerNotCurrent: TOKEN_STATE_AWAY },
  signPaymaster: {
    LoginTooOld: "answered to signTransaction, which comes first; services/signer/src/domain/time-locks.test.ts",
    TimeLockCancelled: "answered to signTransaction, which comes first; services/signer/src/domain/time-locks.test.ts",
    MessageRenewed: ROTATION,
    SignerNotCurrent: TOKEN_STATE_AWAY,
  },
};
