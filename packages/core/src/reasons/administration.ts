import type { ReasonEntry } from "./reason-entry.ts";

export const ADMINISTRATION = {
  SignUpNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "No such sign-up",
    cause: "For administrators: no sign-up of this account and chain exists.",
    remedy: "Check the account's id and the chain's name.",
  },
  SignUpOnChain: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The sign-up is on chain, or on its way: resume it",
    cause: "For administrators: the sign-up has submitted its transaction, so it cannot be cancelled.",
    remedy: "Resume the sign-up.",
  },
  RotationNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "No rotation of a server key was submitted",
    cause: "For administrators: no rotation of a server key was submitted for this account.",
    remedy: "Check the account's id and the chain's name.",
  },
  AdminRequestNotFound: {
    grpc: "NOT_FOUND",
    http: 404,
    title: "No such request of an administrator, or it was decided, or its time is over",
    cause: "For administrators: the request does not exist, was decided, or its time is over.",
    remedy: "List the open requests, and ask again if the action is still needed.",
  },
  SecondPersonRequired: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "Another administrator must approve this",
    cause: "For administrators: the action needs the approval of another person.",
    remedy: "Have another administrator approve the request.",
  },
} as const satisfies Record<string, ReasonEntry>;
