import type { ReasonEntry } from "./reason-entry.ts";

export const TWO_FACTOR = {
  TwoFactorAuthNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "No such request",
    cause: "The account has no such 2FA request.",
    remedy: "Read the list of pending requests again, or start a new one.",
  },
  TwoFactorAuthPending: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The request is not approved yet",
    cause: "No device has approved the request yet, or its key is not on chain yet.",
    remedy: "Ask again after `Retry-After` seconds.",
  },
  TwoFactorAuthRejected: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The request was rejected",
    cause: "A device of the account rejected the request.",
    remedy: "Inform the person. Start a new request only if they ask for it.",
  },
  TwoFactorAuthExpired: {
    grpc: "FAILED_PRECONDITION",
    http: 410,
    title: "The request has expired",
    cause: "Nobody decided within five minutes.",
    remedy: "Start a new request.",
  },
  TwoFactorAuthFinished: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The request is finished already",
    cause: "The request was finished before, and its answer may have been lost; or the device was on the account.",
    remedy: "Sign in by challenge with the new device's key.",
  },
  TwoFactorAuthFailed: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The chain refused the approved transaction",
    cause: "The chain refused the transaction that adds the key.",
    remedy: "Start a new request.",
  },
  TwoFactorAuthNotPending: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The request is not pending any more",
    cause: "Another decision came first, or one is being carried out.",
    remedy: "Read the request again. With `Retry-After`, repeat the same decision after that time.",
  },
  TwoFactorAuthClosed: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "New requests are closed after several rejections",
    cause: "Several requests were rejected within a day, so new ones are closed.",
    remedy: "Reopen them from a device's session, or wait for a day.",
  },
} as const satisfies Record<string, ReasonEntry>;
