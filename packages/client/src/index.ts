export { MatchingCodeError, type TwoFactorApproval } from "./approve-two-factor.ts";
export {
  type BrowserPasskey,
  browserPasskey,
  createBrowserPasskey,
  type PasskeyCredentials,
  PasskeyUnavailableError,
} from "./browser-passkey.ts";
export type { ClientNetwork } from "./chain-account.ts";
export type { ServerClock } from "./clock.ts";
export { type ClientOptions, CountersignClient } from "./countersign-client.ts";
export { browserCredentials, type CredentialStore, type TextStorage } from "./credential-store.ts";
export {
  type DescribedArgument,
  type DescribedNetwork,
  describeTransaction,
  type TransactionDescription,
} from "./describe-transaction.ts";
export {
  type EventAnswer,
  type EventTransport,
  EventTransportError,
  type Fetch,
  fetchEvents,
} from "./event-transport.ts";
export type { AccountEvent, EventOptions } from "./events.ts";
export { FRESH_LOGIN_MAX_AGE_SECONDS, type FreshLoginOptions, withFreshLogin } from "./fresh-login.ts";
export { ConnectionError } from "./http.ts";
export {
  describeKeyAddition,
  isMatchingCodeOf,
  type KeyAddition,
  KeyAdditionError,
  plainName,
  readKeyAddition,
  type ShownTwoFactor,
} from "./key-addition.ts";
export { createOnce, type KeyStore, loadOrCreateKey } from "./key-store.ts";
export type { LockManager } from "./locks.ts";
export { isMatchingCode, type MatchingCodeInput, matchingCode, type RandomBytes } from "./matching-code.ts";
export type { RequestTwoFactorOptions } from "./new-device.ts";
export { type PasskeyStoreOptions, passkeyStore } from "./passkey-store.ts";
export { type FieldProblem, ProblemError, type ProblemReason, SessionEndedError } from "./problem-error.ts";
export { type RecoverDeviceOptions, recoverDevice } from "./recover-device.ts";
export type * from "./resources.ts";
export { type Operation, RETRY_RULES, type RetryRule } from "./retry.ts";
export {
  type DeviceRevocation,
  type KeyRevocation,
  type RevokeDeviceOptions,
  revokeDevice,
} from "./revoke-device.ts";
export { type RotateServerKeysOptions, rotateServerKeys, ServerKeyRotationError } from "./rotate-server-keys.ts";
export {
  type SendKeyAdditionOptions,
  type SendKeyChangeOptions,
  sendKeyAddition,
  sendKeyChange,
  type WantedKeyChange,
} from "./send-key-change.ts";
export {
  acceptChild,
  type ChildOptions,
  offerToParent,
  type ParentOptions,
  removeParent,
  type SendParentLinkOptions,
  sendHybridCustody,
  sendParentLink,
} from "./send-parent-link.ts";
export { type SendTransactionOptions, sendTransaction } from "./send-transaction.ts";
export type { SessionState, SessionView } from "./session-state.ts";
export type { ChallengeOptions, SignUpOptions } from "./sign-in.ts";
export { signTransaction } from "./sign-transaction.ts";
export { twinIds } from "./transaction-twins.ts";
export { type Attest, type AttestedClientData, signMessageWith } from "./user-key.ts";
export {
  type AccountProofDescription,
  describeAccountProof,
  describeUserMessage,
  type SignUserMessageOptions,
  type UserMessageDescription,
} from "./user-message.ts";
export {
  type SentTransaction,
  TransactionFailedError,
  type TransactionStep,
  type WaitForTransactionOptions,
  waitForTransaction,
} from "./wait-for-transaction.ts";
export { type IndexedDbKeyStoreOptions, indexedDbKeyStore, KeyStoreError, memoryKeyStore } from "./web-crypto-key.ts";
