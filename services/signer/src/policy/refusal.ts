import { AppError } from "@countersign/core";

/** The rules that can refuse a signature; the names are part of the API. See docs/signing.md. */
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

/** Refuses a signature: 403 SigningRefused with the rule as `reason`. */
export const refuse = (
  reason: RefusalReason,
  detail: string,
  options: { readonly retryAfterSeconds?: number } = {},
): never => {
  throw new AppError("SigningRefused", { detail, metadata: { reason }, ...options });
};
