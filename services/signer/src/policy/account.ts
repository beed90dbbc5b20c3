import { AppError, invalidField } from "@countersign/core";
import { refusal } from "./refusal.ts";

/** A server key's index on chain, and its version. */
export interface ServerKeyPlace {
  readonly index: number;
  readonly version: number;
}

/** The address of an account on a chain, and its server key. */
export interface Binding {
  readonly accountId: string;
  readonly chainName: string;
  /** 16 hex digits. */
  readonly address: string;
  readonly serverKeyIndex: number;
  readonly serverKeyVersion: number;
  /** Server keys of the account before this one: revoked on chain, they never sign again. */
  readonly retired?: readonly ServerKeyPlace[];
  /** The version of a signed rotation, until the account service has reported it sealed. */
  readonly rotatingTo?: number;
  /** When it was bound. An account is as old as its first binding. */
  readonly boundAt?: Date;
}

/** Returns the vault's key of an account. */
export const serverKeyOf = ({ chainName, accountId, serverKeyVersion: version }: Binding) => ({
  role: "server" as const,
  chainName,
  accountId,
  version,
});

/** Returns whether a server key is at this index of the account, or was before a rotation. */
export const isServerKeyIndex = ({ serverKeyIndex, retired = [] }: Binding, keyId: number): boolean =>
  keyId === serverKeyIndex || retired.some(({ index }) => index === keyId);

/**
 * Returns the token's account on the chain that is meant: its address must be the only one of `authorizers`,
 * in whose name is signed. `chainName` is needed only where the account has the same address on two chains.
 * Its `boundAt` is that of the account's first binding.
 * Errors: AccountNotReady without a binding, InvalidRequest where `chainName` is needed and empty,
 * SigningRefused (NotYourAccount, MoreThanOneAuthorizer).
 */
export function requireOwnAccount(
  authorizers: readonly string[],
  bindings: readonly Binding[],
  chainName: string,
): Binding {
  const candidates = chainName === "" ? bindings : bindings.filter((binding) => binding.chainName === chainName);
  if (candidates.length === 0) throw new AppError("AccountNotReady");
  const [authorizer, ...more] = authorizers;
  if (more.length > 0) throw refusal("MoreThanOneAuthorizer", "the account must be the only authorizer");
  const [binding, ...onOtherChains] = candidates.filter(({ address }) => address === authorizer);
  if (!binding) throw refusal("NotYourAccount", "the authorizer is not the caller's account");
  if (onOtherChains.length > 0)
    throw invalidField("/chainName", "required: the account has this address on several chains");
  const ages = bindings.map(({ boundAt }) => boundAt?.getTime());
  // An account counts as old where the age of one of its bindings is unknown.
  if (ages.includes(undefined)) return { ...binding, boundAt: new Date(0) };
  return { ...binding, boundAt: new Date(Math.min(...(ages as number[]))) };
}
