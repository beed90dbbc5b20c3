import { ACCOUNTS } from "./reasons/accounts.ts";
import { ADMINISTRATION } from "./reasons/administration.ts";
import { ANY_REQUEST } from "./reasons/any-request.ts";
import { DEVICES_AND_KEYS } from "./reasons/devices-and-keys.ts";
import { SESSIONS } from "./reasons/sessions.ts";
import { SIGN_IN } from "./reasons/sign-in.ts";
import { SIGNING } from "./reasons/signing.ts";
import { TWO_FACTOR } from "./reasons/two-factor.ts";

export { GRPC_CODES, type GrpcCodeName } from "./reasons/reason-entry.ts";

/** The tables by their topic, in the order of docs/errors.md. */
export const REASON_TOPICS = {
  "Any request": ANY_REQUEST,
  "Access tokens and sessions": SESSIONS,
  "Sign-up and sign-in": SIGN_IN,
  "Accounts and time locks": ACCOUNTS,
  "Devices and keys": DEVICES_AND_KEYS,
  "Enrollment of a device": TWO_FACTOR,
  "Signing and transactions": SIGNING,
  "Administrators' commands": ADMINISTRATION,
} as const;

/**
 * The closed table of error reasons: gRPC code (google.rpc.Code) and HTTP status of each, with its texts for
 * people. `proto/errors/v1/reasons.proto` publishes the codes to other languages; a test compares the two.
 * docs/errors.md is made from the texts.
 */
export const REASONS = {
  ...ANY_REQUEST,
  ...SESSIONS,
  ...SIGN_IN,
  ...ACCOUNTS,
  ...DEVICES_AND_KEYS,
  ...TWO_FACTOR,
  ...SIGNING,
  ...ADMINISTRATION,
} as const;

/** The name of a reason, as in `error` of a problem document. */
export type Reason = keyof typeof REASONS;

/** Returns whether a string from the wire is one of the reasons. */
export const isReason = (name: string): name is Reason => Object.hasOwn(REASONS, name);
