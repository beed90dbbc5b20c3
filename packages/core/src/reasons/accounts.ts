import type { ReasonEntry } from "./reason-entry.ts";

export const ACCOUNTS = {
  AccountNotReady: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The account is not deployed yet",
    cause: "The chain has not executed the account's creation yet, or the account is not on this chain.",
    remedy: "Ask `GET /account/v1/me` until the address is there, then repeat the request.",
  },
  AccountFrozen: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The account is frozen",
    cause: "A device or the recovery key of the person has frozen the account.",
    remedy:
      "Show that the account is frozen. An older device or the recovery key can unfreeze it. For up to two seconds after a freeze is lifted this may still come: repeat the request.",
  },
  UnfreezeNotAllowed: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "This device cannot unfreeze the account",
    cause: "The device was added after the freeze, or was removed.",
    remedy: "Use a device that is older than the freeze, or the recovery key.",
  },
  AccountUnderReview: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The account is under review",
    cause: "The account changed on chain by a transaction that the service did not make, so it is on hold.",
    remedy: "Ask the person to contact support. Only administrators lift the hold.",
  },
  AccountLeft: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The account has left the service",
    cause: "The owner revoked the service's key on chain, so the account no longer uses the service.",
    remedy:
      "Nothing can be signed here. The person acts with their own keys; another login can sign up for a new account.",
  },
  ParentNotLinked: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The chain shows no parent",
    cause: "The chain shows no parent of this account.",
    remedy: "Have both sides of the link sealed first, then report it again.",
  },
  TimeLockRequired: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "A time lock must pass first",
    cause:
      "The change is sensitive and was requested for the first time; the account's devices and e-mail address were notified.",
    remedy: "Show `availableAt`, and send the same request again from that time on.",
  },
  TimeLockCancelled: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "A device of the account has cancelled this",
    cause: "A device of the account cancelled the change while its time lock ran.",
    remedy: "Inform the person. If the owner did not cancel, a thief may have a device: freeze the account.",
  },
  TimeLockNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "No such time lock",
    cause: "The account has no such time lock, or its end was long ago.",
    remedy: "Read the list of time locks again.",
  },
  TimeLockContested: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "Devices can no longer block this",
    cause:
      "In a day devices reject few requests of the recovery key, and end few sessions of it or of each other; they cancel its time locks for a month.",
    remedy: "Wait, or cancel the time lock where you may. Remove a stolen device, replace a stolen recovery key.",
  },
} as const satisfies Record<string, ReasonEntry>;
