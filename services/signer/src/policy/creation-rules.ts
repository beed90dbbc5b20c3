import { AppError } from "@countersign/core";
import {
  createAccountsArguments,
  createAccountsScript,
  type DecodedMessage,
  isFlowKeyAlgorithm,
  MAX_ACCOUNTS_PER_CREATION,
  MAX_COMPUTATION,
} from "@countersign/flow";
import { type PublicKey, PublicKeyError, parsePublicKey } from "@countersign/keys";
import type { ChainPolicy } from "./chain.ts";
import { refusal } from "./refusal.ts";
import type { Rule } from "./rule.ts";
import { sameHolder } from "./template.ts";

/** The facts about a request for the creator's signature. Account i of every list is the same account. */
export interface CreationFacts {
  readonly message: DecodedMessage;
  readonly chain: ChainPolicy;
  /** The accounts' server keys of the version that is wanted now. */
  readonly serverKeys: readonly PublicKey[];
  /** The accounts' server keys of all other versions. */
  readonly otherServerKeys: readonly PublicKey[];
  /** Every version of creator and paymaster. */
  readonly serviceKeys: readonly PublicKey[];
  /** The user keys that the message names; undefined where it names none that Flow takes. */
  readonly userKeys: readonly PublicKey[] | undefined;
  /** Accounts of the request that are bound on the chain already. */
  readonly boundAccountIds: readonly string[];
}

const bad = (detail: string): AppError => refusal("BadCreation", detail);

/** Returns the values of a JSON-Cadence array; undefined for everything else. */
function listOf(argument: string | undefined): unknown[] | undefined {
  try {
    const { value } = JSON.parse(argument ?? "") as { value?: unknown };
    return Array.isArray(value) ? value.map((entry: { value?: unknown } | null) => entry?.value) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the user keys that a creation names, one per account; undefined where there are too many, or where
 * one is no key that Flow takes.
 */
export function readUserKeys({ arguments: [, keys, curves] }: DecodedMessage): PublicKey[] | undefined {
  const texts = listOf(keys);
  const isSecp256k1 = listOf(curves);
  if (!texts || texts.length > MAX_ACCOUNTS_PER_CREATION) return undefined;
  try {
    const read = texts.map((text, i) =>
      // An object's toString would be the message's own.
      parsePublicKey(typeof text === "string" ? text : "", isSecp256k1?.[i] === true ? "ES256K" : "ES256"),
    );
    return read.every(({ algorithm }) => isFlowKeyAlgorithm(algorithm)) ? read : undefined;
  } catch (error) {
    if (error instanceof PublicKeyError) return undefined;
    throw error;
  }
}

/** One to ten accounts, each once. Comes before anything is loaded for them. */
export const accountsAreFewAndDistinct: Rule<readonly string[]> = (accountIds) => {
  const { length } = accountIds;
  if (length === 0 || length > MAX_ACCOUNTS_PER_CREATION) return bad("a creation has one to ten accounts");
  return new Set(accountIds).size === length ? undefined : bad("an account is named twice");
};

/**
 * Server keys that were derived before another version was wanted are to be derived again. Errors:
 * MessageRenewed.
 */
export const serverKeysAreCurrent: Rule<CreationFacts> = ({ message, otherServerKeys }) => {
  const named = new Set(listOf(message.arguments[0]));
  return otherServerKeys.some(({ publicKey }) => named.has(publicKey))
    ? new AppError("MessageRenewed", { retryAfterSeconds: 1, detail: "server keys of another version are wanted" })
    : undefined;
};

const isEnvelopeOfCreator: Rule<CreationFacts> = ({ message, chain: { creator } }) => {
  if (message.kind !== "envelope" || message.payloadSignatures.length > 0)
    return bad("the message must be an envelope without payload signatures");
  const parties = [message.payer, message.proposalKey.address, ...message.authorizers];
  if (parties.length !== 3 || parties.some((address) => address !== creator.address))
    return bad("the creator must be payer, proposer and only authorizer");
  return message.proposalKey.keyId < creator.keyCount ? undefined : bad("the proposal key is not the creator's");
};

const gasLimitIsTemplates: Rule<CreationFacts> = ({ message: { gasLimit } }) =>
  gasLimit === 0n || gasLimit > MAX_COMPUTATION ? bad(`the gas limit must be 1 to ${MAX_COMPUTATION}`) : undefined;

const scriptIsTemplate: Rule<CreationFacts> = ({ message, chain }) =>
  message.script === createAccountsScript(chain.evmContract) ? undefined : bad("the script is not the template");

/** The arguments are exactly the bytes that the service would write for these server keys and user keys. */
const argumentsAreCanonical: Rule<CreationFacts> = ({ message, serverKeys, userKeys }) => {
  if (!userKeys) return bad("a user key is missing, not on its curve, or of a kind that Flow does not take");
  if (userKeys.length !== serverKeys.length) return bad("the accounts of request and message differ");
  const expected = createAccountsArguments(serverKeys.map((serverKey, i) => ({ serverKey, userKey: userKeys[i]! })));
  const isEqual =
    message.arguments.length === expected.length && expected.every((text, i) => text === message.arguments[i]);
  return isEqual ? undefined : bad("the arguments are not those of these accounts");
};

/** No key has two roles: one holder of both could act alone. A key and its negation have one holder. */
const keysHaveOneRole: Rule<CreationFacts> = ({ serverKeys, otherServerKeys, serviceKeys, userKeys = [] }) => {
  const isOneOf = (keys: readonly PublicKey[], { publicKey }: PublicKey) =>
    keys.some((other) => sameHolder(other.publicKey, publicKey));
  if (serverKeys.some((key, i) => isOneOf(serverKeys.slice(i + 1), key)))
    return bad("two accounts have one server key");
  const own = [...serverKeys, ...otherServerKeys, ...serviceKeys];
  return userKeys.some((key) => isOneOf(own, key)) ? bad("a user key is one of the service's") : undefined;
};

export const accountsAreNew: Rule<CreationFacts> = ({ boundAccountIds: [bound] }) =>
  bound ? bad(`account ${bound} is deployed already`) : undefined;

/** The rules of the creator's signature, in the order in which they apply. */
export const CREATION_RULES: readonly Rule<CreationFacts>[] = [
  serverKeysAreCurrent,
  isEnvelopeOfCreator,
  gasLimitIsTemplates,
  scriptIsTemplate,
  argumentsAreCanonical,
  keysHaveOneRole,
  accountsAreNew,
];
