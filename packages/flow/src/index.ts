export { type AccessApi, AccessApiError, type AccessApiOptions, createAccessApi } from "./access/access-api.ts";
export {
  abortReason,
  DeadlineError,
  fetchText,
  onAbort,
  sleepUnlessAborted,
  throwIfAborted,
  withDeadline,
} from "./access/deadline.ts";
export { type AddedKey, addedKeys, revokedKeys } from "./access/key-events.ts";
export type { Block, ChainEvent, ChainKey, ChainTransaction, TransactionResult } from "./access/resources.ts";
export {
  type CadenceValue,
  cadenceAddress,
  cadenceArray,
  cadenceBool,
  cadenceInt,
  cadenceString,
  cadenceUFix64,
  cadenceUInt8,
  encodeCadence,
  readCadence,
} from "./codec/cadence-json.ts";
export { type DecodedMessage, decodeMessage, InvalidMessageError, MAX_MESSAGE_BYTES } from "./codec/decode-message.ts";
export { ExtensionDataError, passkeySignature, readPasskeySignature } from "./codec/passkey-signature.ts";
export { decodeRlp, encodeRlp, RlpError, type RlpItem } from "./codec/rlp.ts";
export {
  envelopeMessage,
  type FlowTransaction,
  type ProposalKey,
  payloadMessage,
  signerList,
  TRANSACTION_TAG,
  type TransactionPayload,
  type TransactionSignature,
  transactionId,
} from "./codec/transaction.ts";
export {
  type AccountProof,
  accountProofMessage,
  HIDDEN_CHARACTERS,
  readAccountProof,
  readUserMessage,
  USER_MESSAGE_TAG,
  userMessage,
} from "./codec/user-message.ts";
export * from "./templates/account-model.ts";
export { type AccountToCreate, createAccountsArguments, createAccountsScript } from "./templates/create-accounts.ts";
export { evmAddressesScript } from "./templates/evm-addresses.ts";
export {
  type HybridCustodyChange,
  type HybridCustodyTemplateName,
  hybridCustodyArguments,
  hybridCustodyScript,
  readHybridCustodyChange,
} from "./templates/hybrid-custody.ts";
export type { HybridCustodyNetwork } from "./templates/hybrid-custody-scripts.ts";
export {
  addUserKeyArguments,
  addUserKeyPayload,
  type KeyChange,
  type KeyTemplateName,
  keyChangeArguments,
  keyTemplateScript,
  readAddUserKey,
  readKeyChange,
} from "./templates/key-templates.ts";
export { type NameServiceKind, nameScript } from "./templates/name-scripts.ts";
export {
  type ParentLinkChange,
  type ParentLinkTemplateName,
  parentLinkArguments,
  parentLinkScript,
  readParentLinkChange,
} from "./templates/parent-links.ts";
export { hybridCustodyParentsScript, INBOX_PARENTS_SCRIPT } from "./templates/parents-scripts.ts";
export { TemplateError } from "./templates/template-arguments.ts";
export {
  addsKeyOf,
  readTemplate,
  type TemplateChange,
  type TemplateName,
  templateEffects,
} from "./templates/template-effects.ts";
export { describeTemplates, type TemplateDescription, type TemplateParameter } from "./templates/template-list.ts";
export { type VoidPlace, voidPayload } from "./templates/void-transaction.ts";
export { completeKeyChange, type HeavyKeys, heavyKeys, type WantedKeyChange } from "./templates/wanted-key-change.ts";
