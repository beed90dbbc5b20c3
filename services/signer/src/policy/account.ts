import { AppError } from "@countersign/core";
import type { DecodedMessage } from "@countersign/flow";
import { refuse } from "./refusal.ts";

/** A server key's index on chain, and its version. */
export interface ServerKeyPlace {
  readonly index: number;
  readonly version: number;
}

/** Where an account stands on a chain, and which of its keys is ours. */
export interface Binding {
  readonly accountId: string;
  readonly chainName: string;
  /** 16 hex digits. */
  readonly address: string;
  readonly serverKeyIndex: number;
  readonly serverKeyVersion: number;
  /** Our keys on the account before this one: revoked on chain, they never sign again. */
  readonly retired?: readonly ServerKeyPlace[];
  /** The version that a rotation signed by us brings, until the account service has seen it on chain. */
  readonly rotatingTo?: number;
  /** When it was bound; the first of an account's bindings tells its age. */
  readonly boundAt?: Date;
}

/**
 * The caller's account on the chain that the message is for. An address may be the account's on two chains, then `chainName` must say which.
 * Errors: AccountNotReady without a binding, SigningRefused (NotYourAccount, MoreThanOneAuthorizer).
 */
export function requireOwnAccount(message: DecodedMessage, bindings: readonly Binding[], chainName: string): Binding {
  const candidates = chainName === "" ? bindings : bindings.filter((binding) => binding.chainName === chainName);
  if (candidates.length === 0) throw new AppError("AccountNotReady");
  if (message.authorizers.length > 1) refuse("MoreThanOneAuthorizer", "the account must be the only authorizer");
  const own = candidates.filter((binding) => binding.address === message.authorizers[0]);
  const [binding] = own;
  if (!binding) return refuse("NotYourAccount", "the authorizer is not the caller's account");
  if (own.length > 1) {
    throw new AppError("InvalidRequest", {
      fields: [{ pointer: "/chainName", detail: "needed: two chains have this address" }],
    });
  }
  const ages = bindings.map(({ boundAt }) => boundAt?.getTime());
  // A further chain makes no young account; one whose age is not known counts as old.
  if (ages.includes(undefined)) return { ...binding, boundAt: new Date(0) };
  return { ...binding, boundAt: new Date(Math.min(...(ages as number[]))) };
}
