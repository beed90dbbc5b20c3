import { type Clock, isAppError, type VerifiedToken } from "@countersign/core";
import type { DecodedMessage } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { type Binding, requireOwnAccount, serverKeyOf } from "../policy/account.ts";
import { type ChainPolicy, referenceSeconds, wantedServerKeyVersion } from "../policy/chain.ts";
import { endOfFreeze, openSince } from "../policy/effects.ts";
import type { HistoryFacts } from "../policy/history-rules.ts";
import type { Policy } from "../policy/policy.ts";
import type { RequestFacts, ServiceKeys, TemplateFacts } from "../policy/request-facts.ts";
import { deviceSignatures, hasSigned } from "../policy/signatures.ts";
import { readTemplate, revokesAnotherKey, sameHolder } from "../policy/template.ts";
import type { TimeLockPolicy } from "../policy/time-lock.ts";
import { ageOfKey } from "../policy/user-keys.ts";
import type { UserMessageFacts } from "../policy/user-message-rules.ts";
import { ownPublicKeys, type Vault } from "../vault/index.ts";
import { findSigner } from "./find-signer.ts";
import type { AddedKeys, BindingStore, RecoveryKeys, RevokedKeys, SignedTemplates } from "./ports.ts";

/** The requester of a signature, and the chain that it is for. */
export interface RequestOrigin {
  readonly token: VerifiedToken;
  /** The name in the caller's certificate. */
  readonly caller: string;
  /** Empty unless the account has the same address on two chains. */
  readonly chainName: string;
}

/** Sources of the facts about a request for a signature with a user's token. */
export interface FactSources {
  readonly bindings: Pick<BindingStore, "find" | "findCurrent">;
  readonly vault: Vault;
  readonly addedKeys: AddedKeys;
  readonly recoveryKeys: RecoveryKeys;
  readonly revokedKeys: RevokedKeys;
  readonly signedTemplates: Pick<SignedTemplates, "laterKeptAt">;
  readonly timeLockPolicy: TimeLockPolicy;
  readonly clock: Clock;
  /** When the account's last freeze was lifted, by auth's token state. */
  unfrozenAt(accountId: string): Date | undefined;
  /** Keys of the account that must not be co-signed for, by auth. Errors: Unavailable, DeadlineExceeded. */
  blockedKeys(accountId: string): Promise<readonly PublicKey[]>;
  /** Errors: UnknownChain. */
  chain(name: string): ChainPolicy;
}

export type UserMessageSources = Pick<FactSources, "bindings" | "addedKeys" | "blockedKeys" | "chain">;

/**
 * Loads the account, the template and the keys that the rules need. Costs one query, for the account's
 * bindings, and one call, for its blocked keys; both are cached. Errors: UnknownChain,
 * AccountNotReady, InvalidRequest, SigningRefused (NotYourAccount, MoreThanOneAuthorizer), those of
 * `blockedKeys`.
 */
export async function loadFacts(
  sources: FactSources,
  { token, caller, chainName }: RequestOrigin,
  message: DecodedMessage,
  policy: Policy,
): Promise<RequestFacts> {
  if (chainName !== "") sources.chain(chainName);
  const account = await loadAccount(sources, token.accountId, message.authorizers, chainName);
  const chain = sources.chain(account.chainName);
  const { template: read, templateProblem } = readTemplate(message, chain.hybridCustody);
  const template = read && { ...read, serviceKeys: await loadServiceKeys(sources.vault, account, chain) };
  const blockedKeys = await sources.blockedKeys(account.accountId);
  return { message, token, caller, account, chain, policy, blockedKeys, template, templateProblem };
}

/** Loads the caller's account; a cached answer may lack a binding that is new. */
async function loadAccount(
  { bindings }: Pick<FactSources, "bindings">,
  accountId: string,
  authorizers: readonly string[],
  chainName: string,
): Promise<Binding> {
  try {
    return requireOwnAccount(authorizers, await bindings.find(accountId), chainName);
  } catch (error) {
    if (!isAppError(error, "AccountNotReady", "SigningRefused")) throw error;
    return requireOwnAccount(authorizers, await bindings.findCurrent(accountId), chainName);
  }
}

/**
 * Loads the facts of a message in the name of the token's account at this address. Errors: UnknownChain,
 * AccountNotReady, InvalidRequest, SigningRefused (NotYourAccount), those of `blockedKeys`.
 */
export async function loadUserMessageFacts(
  sources: UserMessageSources,
  { token, chainName, address }: RequestOrigin & { readonly address: string },
): Promise<Omit<UserMessageFacts, "isSigned">> {
  if (chainName !== "") sources.chain(chainName);
  const account = await loadAccount(sources, token.accountId, [address], chainName);
  const blockedKeys = await sources.blockedKeys(account.accountId);
  const added = await sources.addedKeys.find(account, token.accountKey.publicKey);
  return { token, account, blockedKeys, added };
}

async function loadServiceKeys(vault: Vault, account: Binding, chain: ChainPolicy): Promise<ServiceKeys> {
  const keyOf = (version: number) => vault.publicKey({ ...serverKeyOf(account), version });
  const { serverKeyVersion: version, retired = [] } = account;
  const serverKey = await keyOf(version);
  const serverKeys = await Promise.all(vault.versions("server").map(keyOf));
  return {
    serverKey,
    nextServerKey: version < wantedServerKeyVersion(chain) ? await keyOf(version + 1) : undefined,
    retiredServerKeys: await Promise.all(retired.map((place) => keyOf(place.version))),
    all: [serverKey, ...serverKeys, ...(await ownPublicKeys(vault, account.chainName))],
  };
}

/**
 * Loads what the signer remembers of earlier signatures for the account: only what this template depends on.
 */
export async function loadHistory(
  sources: FactSources,
  { message, token, account, chain }: RequestFacts,
  template: TemplateFacts,
): Promise<HistoryFacts> {
  const { addedKeys, recoveryKeys, revokedKeys, timeLockPolicy, clock } = sources;
  const now = clock.now();
  const newKey = "newKey" in template.change ? template.change.newKey : undefined;
  const knownRecoveryKeys = template.name === "add-user-key" ? await recoveryKeys.of(account) : [];
  // At the server key's index is no other key's signature: one of unknown form there would let a device take
  // the place of a recovery key's time lock, again and again.
  const signed = { ...message, payloadSignatures: deviceSignatures(message, account) };
  const recoveryKeySigned = await someKeySigned(signed, knownRecoveryKeys);
  const source = token.scope === "recover" || recoveryKeySigned ? "recovery" : "device";
  const by = { source, renewableSince: openSince({ chain }, now) } as const;
  const [laterNumberOpenUntil, newKeyWasRevoked, newKeyHasOtherRole, accountKeyAgeMs] = await Promise.all([
    loadLaterNumber(sources, message, account, chain, now),
    newKey !== undefined && revokedKeys.forbidAddition(account, newKey.publicKey, by),
    newKey !== undefined &&
      (template.name === "add-user-key"
        ? knownRecoveryKeys.some(({ publicKey }) => sameHolder(publicKey, newKey.publicKey))
        : addedKeys.find(account, newKey.publicKey).then((added) => added !== undefined)),
    revokesAnotherKey(template, token.accountKey)
      ? addedKeys.find(account, token.accountKey.publicKey).then((added) => ageOfKey(added, now))
      : undefined,
  ]);
  const keys = { newKeyWasRevoked, newKeyHasOtherRole, recoveryKeySigned, accountKeyAgeMs };
  return { message, token, account, template, now, timeLockPolicy, laterNumberOpenUntil, ...keys };
}

/** Returns whether one of the keys has signed the payload, or may have. Serves other requests meanwhile. */
const someKeySigned = async (message: DecodedMessage, keys: readonly PublicKey[]): Promise<boolean> =>
  (await findSigner(keys, (key) => hasSigned(message, [key]))) !== undefined;

/**
 * Returns until when a later sequence number that was signed for before a freeze may execute. Makes no query
 * without a freeze.
 */
async function loadLaterNumber(
  { signedTemplates, unfrozenAt }: FactSources,
  { proposalKey }: DecodedMessage,
  account: Binding,
  chain: ChainPolicy,
  now: Date,
): Promise<Date | undefined> {
  const lifted = endOfFreeze(unfrozenAt(account.accountId));
  if (!lifted) return undefined;
  const openMs = referenceSeconds(chain) * 1000;
  const freeze = { since: new Date(now.getTime() - openMs), unfrozenAt: lifted };
  const keptAt = await signedTemplates.laterKeptAt(account, proposalKey.sequenceNumber, freeze);
  return keptAt && new Date(keptAt.getTime() + openMs);
}
