import { AppError } from "@countersign/core";
import {
  type AccountToCreate,
  createAccountsArguments,
  createAccountsScript,
  type DecodedMessage,
  isFlowKeyAlgorithm,
  MAX_ACCOUNTS_PER_CREATION,
  MAX_COMPUTATION,
} from "@countersign/flow";
import { type PublicKey, PublicKeyError, parsePublicKey } from "@countersign/keys";
import { refuse } from "./refusal.ts";
import type { ChainPolicy } from "./transaction.ts";

const bad = (detail: string): never => refuse("BadCreation", detail);

/** The values of a JSON-Cadence array argument; whatever is not of this shape yields values that compare unequal later. */
function listOf(argument: string | undefined): unknown[] {
  const parsed: unknown = argument === undefined ? undefined : JSON.parse(argument);
  const value = (parsed as { value?: unknown } | null | undefined)?.value;
  return Array.isArray(value) ? value.map((entry: { value?: unknown } | null) => entry?.value) : bad("arguments");
}

function userKey(text: unknown, isSecp256k1: unknown): PublicKey {
  try {
    if (typeof text !== "string") return bad("a user key that is no text");
    const key = parsePublicKey(text, isSecp256k1 === true ? "ES256K" : "ES256");
    return isFlowKeyAlgorithm(key.algorithm) ? key : bad("a user key that Flow cannot carry");
  } catch (error) {
    if (error instanceof PublicKeyError) return bad("a user key is not on its curve");
    throw error;
  }
}

/** The account ids of a creation: one to ten, each once. */
export function checkCreationAccounts(accountIds: readonly string[]): void {
  const { length } = accountIds;
  if (length === 0 || length > MAX_ACCOUNTS_PER_CREATION) bad("one to ten accounts");
  if (new Set(accountIds).size !== length) bad("an account twice");
}

/**
 * The server keys are not of a version that accounts are not brought to (`others`): they were derived before it was wanted, and are to be derived anew. Errors: MessageRenewed.
 */
export function checkCreationVersion({ arguments: [named] }: DecodedMessage, others: readonly PublicKey[]): void {
  if (others.length === 0) return;
  const keys = new Set(others.map(({ publicKey }) => publicKey));
  if (listOf(named).some((key) => typeof key === "string" && keys.has(key)))
    throw new AppError("MessageRenewed", { retryAfterSeconds: 1, detail: "server keys of another version are wanted" });
}

/**
 * The message is exactly the creation template: the creator alone proposes, authorizes and pays; account i
 * gets `serverKeys[i]`, the key that the vault derives for its id, and one user key, which is none of ours
 * (`ownKeys`: creator, paymaster, server keys of other versions). Arguments are compared byte for byte with
 * our own encoding of what they say. Returns the user keys.
 */
export function checkCreation(
  message: DecodedMessage,
  serverKeys: readonly PublicKey[],
  chain: ChainPolicy,
  ownKeys: readonly PublicKey[],
): PublicKey[] {
  const { creator } = chain;
  if (message.kind !== "envelope" || message.payloadSignatures.length > 0)
    bad("an envelope without payload signatures");
  if (message.payer !== creator.address || message.proposalKey.address !== creator.address) bad("not the creator's");
  if (message.authorizers.length !== 1 || message.authorizers[0] !== creator.address) bad("authorizers");
  if (message.proposalKey.keyId >= creator.keyCount) bad("the proposal key");
  if (message.gasLimit === 0n || message.gasLimit > MAX_COMPUTATION) bad("the gas limit");
  if (message.script !== createAccountsScript(chain.evmContract)) bad("the script");
  if (message.arguments.length !== 3) bad("arguments");

  const [, userKeyArgument, curveArgument] = message.arguments;
  const keys = listOf(userKeyArgument);
  const curves = listOf(curveArgument);
  if (keys.length !== serverKeys.length || curves.length !== serverKeys.length) bad("lists of unequal length");
  const accounts: AccountToCreate[] = serverKeys.map((serverKey, i) => ({
    serverKey,
    userKey: userKey(keys[i], curves[i]),
  }));
  const expected = createAccountsArguments(accounts);
  if (expected.some((argument, i) => argument !== message.arguments[i])) bad("arguments");
  // An equal x is the same key or its negation: one holder of both roles would act alone.
  const x = (key: PublicKey) => key.publicKey.slice(0, 64);
  const ours = new Set([...serverKeys, ...ownKeys].map(x));
  if (new Set(serverKeys.map(x)).size !== serverKeys.length) bad("a server key twice");
  if (accounts.some((account) => ours.has(x(account.userKey)))) bad("a user key that is one of ours");
  return accounts.map(({ userKey }) => userKey);
}
