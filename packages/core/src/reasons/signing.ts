import type { ReasonEntry } from "./reason-entry.ts";

export const SIGNING = {
  MessageRenewed: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The message was renewed",
    cause: "The message to sign is out of date: it was renewed, or the server key changed.",
    remedy: "Read the request or the account's keys again, check the new message, and sign that.",
  },
  TransactionMismatch: {
    grpc: "INVALID_ARGUMENT",
    http: 422,
    title: "The transaction is not the requested one",
    cause: "The named transaction does not do exactly what was requested, or the chain does not know it.",
    remedy: "Send the id of the transaction that does only this; build it with the client.",
  },
  TransactionPending: {
    grpc: "FAILED_PRECONDITION",
    http: 409,
    title: "The transaction is not sealed yet",
    cause: "The chain has not sealed the transaction yet.",
    remedy: "Ask again after `Retry-After` seconds.",
  },
  InvalidMessage: {
    grpc: "INVALID_ARGUMENT",
    http: 400,
    title: "Not a message that can be signed",
    cause:
      "The message is no canonical Flow transaction: its domain tag or encoding is wrong, or bytes follow it. Or a " +
      "user message or account proof is no readable text of the permitted length; `detail` says why.",
    remedy:
      "Encode a transaction as RLP with the tag `FLOW-V0.0-transaction`, as the client does. For texts see " +
      "[fcl.md](fcl.md#user-signatures).",
  },
  SigningRefused: {
    grpc: "PERMISSION_DENIED",
    http: 403,
    title: "The signer refuses to sign this",
    cause: "A rule of the signer refuses the transaction or message; `reason` names the rule and `detail` the place.",
    remedy:
      "Look the rule up in [signing.md](signing.md#rules-of-a-message) and change the transaction. The same message is refused again.",
  },
  SignerNotCurrent: {
    grpc: "UNAVAILABLE",
    http: 503,
    title: "The signer does not have the current token state",
    cause: "The signer has not received the state of sessions for ten seconds, so it signs nothing.",
    remedy: "Try again after `Retry-After` seconds. The operator checks auth if it lasts.",
  },
} as const satisfies Record<string, ReasonEntry>;
