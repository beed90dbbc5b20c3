/**
 * Entitlements of Cadence's `Account` that a custom script may ask for. Every other one is refused, also
 * future ones.
 */
export const ALLOWED_ENTITLEMENTS: ReadonlySet<string> = new Set([
  ..."Storage SaveValue LoadValue CopyValue BorrowValue ClaimInboxCapability".split(" "),
  ..."StorageCapabilities IssueStorageCapabilityController GetStorageCapabilityController".split(" "),
  ..."PublishCapability UnpublishCapability".split(" "),
]);

/**
 * Cadence's own entitlements on `Account` and its parts: keys, contracts, account capabilities, inbox, and
 * the allowed ones.
 */
export const ACCOUNT_ENTITLEMENTS: ReadonlySet<string> = new Set([
  ...ALLOWED_ENTITLEMENTS,
  ..."Keys AddKey RevokeKey Contracts AddContract UpdateContract RemoveContract Capabilities".split(" "),
  ..."AccountCapabilities IssueAccountCapabilityController GetAccountCapabilityController".split(" "),
  ..."Inbox PublishInboxCapability UnpublishInboxCapability".split(" "),
]);

/** Cadence's own entitlements on containers. */
const CONTAINER_ENTITLEMENTS: ReadonlySet<string> = new Set(["Mutate", "Insert", "Remove", "Identity"]);

/** Built-in types of values that hold no authority over anything. */
export const VALUE_TYPES: ReadonlySet<string> = new Set([
  ..."Bool String Character Address Type Path StoragePath PublicPath PrivatePath CapabilityPath".split(" "),
  ..."Int Int8 Int16 Int32 Int64 Int128 Int256 UInt UInt8 UInt16 UInt32 UInt64 UInt128 UInt256".split(" "),
  ..."Word8 Word16 Word32 Word64 Word128 Word256 Fix64 UFix64 Fix128 UFix128".split(" "),
]);

/** Built-in types that are keys to an account. */
export const ACCOUNT_PARTS: ReadonlySet<string> = new Set(
  "AccountCapabilityController AccountKey AuthAccount PublicAccount DeployedContract".split(" "),
);

/** Names that a script may not declare: rules recognize the language's own things by them. */
export const LANGUAGE_NAMES: ReadonlySet<string> = new Set([
  ...ACCOUNT_ENTITLEMENTS,
  ...CONTAINER_ENTITLEMENTS,
  ...VALUE_TYPES,
  ...ACCOUNT_PARTS,
  ..."Account Capability StorageCapabilityController AnyStruct AnyResource Any Never Void InclusiveRange".split(" "),
  ..."getAccount getAuthAccount panic assert self Type PublicKey SignatureAlgorithm HashAlgorithm".split(" "),
  ..."CapabilityType CompositeType ReferenceType OptionalType IntersectionType DictionaryType".split(" "),
  ..."FunctionType VariableSizedArrayType ConstantSizedArrayType InclusiveRangeType".split(" "),
]);

/** The user's EVM address on chain: a holder of rights over it has that address. */
export const isCadenceOwnedAccount = (name: string): boolean => name === "EVM.CadenceOwnedAccount";
export const isOfEvm = (name: string): boolean => name.startsWith("EVM.");
