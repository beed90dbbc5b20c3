import { AppError } from "@countersign/core";

/** The reasons for which a signature is refused. They are part of the API: see docs/signing.md. */
export type RefusalReason =
  | "WrongMessageKind"
  | "NotYourAccount"
  | "NotYourApp"
  | "MoreThanOneAuthorizer"
  | "ProposerNotYours"
  | "UnknownPayer"
  | "PaymasterWouldAuthorize"
  | "UserSignatureMissing"
  | "UserSignatureInvalid"
  | "BlockedKey"
  | "UnregisteredKey"
  | "AppIdentifierNotAllowed"
  | "GasLimit"
  | "BudgetExceeded"
  | "ScriptNotUnderstood"
  | "ForbiddenEntitlement"
  | "ForbiddenMember"
  | "ForbiddenType"
  | "ForbiddenPath"
  | "AccountEscapes"
  | "EntitledCapability"
  | "ScriptNotListed"
  | "DeniedScript"
  | "DeniedContract"
  | "SwitchedOff"
  | "OutsideEphemeralScope"
  | "BadTemplateArguments"
  | "TooManyOpenTemplates"
  | "LaterNumberOpen"
  | "BadCreation"
  | "BindingConflict"
  | "NotFrozen";

/** Returns the error that refuses a signature: 403 SigningRefused with the rule as `reason`. */
export const refusal = (
  reason: RefusalReason,
  detail: string,
  options: { readonly retryAfterSeconds?: number } = {},
): AppError => new AppError("SigningRefused", { detail, metadata: { reason }, ...options });
