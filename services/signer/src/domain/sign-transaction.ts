import { MAX_STATE_AGE_MS } from "@countersign/access-tokens";
import type { Clock, VerifiedToken } from "@countersign/core";
import type { DecodedMessage } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { Reserve } from "../budget/reserve.ts";
import { faultPoint } from "../fault-points.ts";
import { type Binding, requireOwnAccount } from "../policy/account.ts";
import type { BackendCheck } from "../policy/backends.ts";
import { refuse } from "../policy/refusal.ts";
import { checkPayerOfScope, checkScope, EPHEMERAL_USES } from "../policy/scope.ts";
import { checkScript, mustBeRead } from "../policy/script/check-script.ts";
import type { KnownScripts } from "../policy/script/known-scripts.ts";
import { checkNotByBlockedKey, checkSignatureCount } from "../policy/signatures.ts";
import {
  checkNotRotatedAway,
  checkTemplateKeys,
  checkTemplateParties,
  type Template,
  templateOf,
} from "../policy/template.ts";
import {
  type ChainPolicy,
  checkAuthorizerKind,
  checkTransaction,
  referenceSeconds,
  wantedServerKeyVersion,
} from "../policy/transaction.ts";
import { ownPublicKeys, type Vault } from "../vault/index.ts";
import type { AddedKeys } from "./added-keys.ts";
import { type Decide, type Deciding, requesterOf, type SignedMessage } from "./decide.ts";
import type { BindingStore, EphemeralUses, SignedTemplates } from "./ports.ts";
import { checkNotBroughtBack, checkNotOwnKey, noteRevocation, type RevokedKeys } from "./revoked-keys.ts";
import type { RecoveryKeys, requireDelay } from "./time-locks.ts";

/** A user's message for one of our keys. */
export interface SignCommand {
  readonly message: Uint8Array;
  /** Empty unless the account has the same address on two chains. */
  readonly chainName: string;
  readonly token: VerifiedToken;
  readonly caller: string;
}

export interface SignOptions {
  readonly decide: Decide;
  readonly bindings: BindingStore;
  readonly vault: Vault;
  readonly ephemeralUses: EphemeralUses;
  readonly scripts: KnownScripts;
  readonly addedKeys: AddedKeys;
  readonly recoveryKeys: Pick<RecoveryKeys, "of">;
  readonly revokedKeys: RevokedKeys;
  readonly signedTemplates: SignedTemplates;
  /** When the account's last freeze was lifted, as auth's token state has it. */
  unfrozenAt(accountId: string): Date | undefined;
  /** Keys of the account that must not be co-signed for, as auth's token state has them. */
  blockedKeys(accountId: string): readonly PublicKey[];
  /** See requireDelay. */
  readonly delay: ReturnType<typeof requireDelay>;
  readonly clock: Clock;
  readonly reserve: Reserve;
  chain(name: string): ChainPolicy;
  readonly checkBackend?: BackendCheck;
}

/** The server key's signature over a transaction of the token's own account; see policy/transaction.ts for the rules. */
export const signTransaction = (options: SignOptions) => {
  const { decide, bindings, chain } = options;
  return ({ message, chainName, token, caller }: SignCommand): Promise<SignedMessage> =>
    decide("transaction", message, requesterOf(token, caller), async (decoded, deciding) => {
      options.checkBackend?.(caller, token);
      if (chainName !== "") chain(chainName);
      const account = requireOwnAccount(decoded, await bindings.find(token.accountId), chainName);
      checkSignatures(options, decoded, account);
      const own = chain(account.chainName);
      const template = templateFor(token, decoded, own);
      if (template) await checkRotation(options, template, decoded, account);
      checkTransaction(decoded, account, own, template, deciding.policy);
      checkPayerOfScope(token, decoded, account, template);
      checkAuthorizerKind(decoded, account);
      if (template) await checkTemplate(options, template, account, caller);
      else await checkFreeScript(options.scripts, decoded, deciding, token.accountId);
      await checkHistory(options, decoded, template, token, account);
      if (template) await noteTemplate(options, decoded, account, own, token);
      await countEphemeralUse(options, token, "transaction");
      const { chainName: name, accountId } = account;
      const spender = { operation: "transaction", chainName: name, accountId, appId: token.appId, caller } as const;
      const reservation = options.reserve(decoded, spender, deciding.policy);
      if (template?.name === "rotate-server-key") {
        await bindings.beginRotation(account, account.serverKeyVersion + 1, options.clock.now());
        await faultPoint("rotation begun");
      }
      return { key: serverKeyOf(account), address: account.address, keyId: account.serverKeyIndex, reservation };
    });
};

/** Rejects signatures that no transaction of the account may carry. */
export function checkSignatures(
  { blockedKeys }: Pick<SignOptions, "blockedKeys">,
  decoded: DecodedMessage,
  { accountId }: Binding,
): void {
  checkSignatureCount(decoded);
  checkNotByBlockedKey(decoded, blockedKeys(accountId));
}

/** The template of this chain that the message runs; refuses what the token's scope does not open. */
export function templateFor(
  token: VerifiedToken,
  decoded: DecodedMessage,
  { hybridCustody }: ChainPolicy,
): Template | undefined {
  const template = templateOf(decoded, hybridCustody);
  checkScope(token, template);
  return template;
}

/** See checkNotRotatedAway; it comes before the rules that would refuse the index. */
export async function checkRotation(
  { vault }: Pick<SignOptions, "vault">,
  template: Template,
  decoded: DecodedMessage,
  account: Binding,
): Promise<void> {
  if (!account.retired && account.rotatingTo === undefined) return;
  const versions = account.retired ?? [];
  const retired = versions.map(({ version }) => vault.publicKey({ ...serverKeyOf(account), version }));
  checkNotRotatedAway(template, decoded, account, await Promise.all(retired));
}

/**
 * How many sequence numbers of a server key a session may have signed for and not used up while their reference blocks are good. A freeze voids each of them, which we pay for; people need one, since
 * the next number is the chain's only after the one before. Per session: a thief's takes none from the owner's.
 */
export const OPEN_TEMPLATES = 16;

/** Before the signature leaves: a freeze voids what was signed. Errors: SigningRefused (TooManyOpenTemplates). */
async function noteTemplate(
  { signedTemplates, unfrozenAt, clock }: Pick<SignOptions, "signedTemplates" | "unfrozenAt" | "clock">,
  { proposalKey }: DecodedMessage,
  account: Binding,
  chain: ChainPolicy,
  { sessionId }: VerifiedToken,
): Promise<void> {
  const now = clock.now();
  const since = new Date(now.getTime() - referenceSeconds(chain) * 1000);
  const lifted = endOfFreeze(unfrozenAt(account.accountId));
  const open = { sessionId, most: OPEN_TEMPLATES, since, unfrozenAt: lifted };
  const noted = await signedTemplates.note(account, proposalKey.sequenceNumber, now, open);
  if (!noted) refuse("TooManyOpenTemplates", `${OPEN_TEMPLATES} sequence numbers of the server key are signed for`);
}

/**
 * A replica that received the freeze late, or whose clock is ahead, may have signed until this much later.
 */
const endOfFreeze = (unfrozenAt: Date | undefined): Date | undefined =>
  unfrozenAt && new Date(unfrozenAt.getTime() + MAX_STATE_AGE_MS);

/**
 * Rejects a template while a later number of the same key was signed for before a freeze and may still run:
 * voiding stops at a number that nothing was signed for, and this one's execution would make a kept template
 * the next. After no freeze it costs nothing, otherwise one read. Errors: SigningRefused (LaterNumberOpen)
 * with Retry-After.
 */
export async function checkNoLaterKept(
  {
    signedTemplates,
    unfrozenAt,
    clock,
    chain,
  }: Pick<SignOptions, "signedTemplates" | "unfrozenAt" | "clock" | "chain">,
  { proposalKey }: DecodedMessage,
  account: Binding,
): Promise<void> {
  const lifted = endOfFreeze(unfrozenAt(account.accountId));
  if (!lifted) return;
  const now = clock.now().getTime();
  const livesMs = referenceSeconds(chain(account.chainName)) * 1000;
  const freeze = { since: new Date(now - livesMs), unfrozenAt: lifted };
  const keptAt = await signedTemplates.laterKeptAt(account, proposalKey.sequenceNumber, freeze);
  if (!keptAt) return;
  const retryAfterSeconds = Math.max(1, Math.ceil((keptAt.getTime() + livesMs - now) / 1000));
  refuse("LaterNumberOpen", "a later sequence number was signed for before the freeze and may still run", {
    retryAfterSeconds,
  });
}

/** What a template asks for must leave server, creator and paymaster keys where they are, but for a rotation. */
export async function checkTemplate(
  { vault, chain }: Pick<SignOptions, "vault" | "chain">,
  template: Template,
  account: Binding,
  caller: string,
): Promise<void> {
  checkTemplateParties(template, account.address);
  const { chainName, serverKeyVersion } = account;
  const keyOf = (version: number) => vault.publicKey({ ...serverKeyOf(account), version });
  const isBehind = serverKeyVersion < wantedServerKeyVersion(chain(chainName));
  const servers = await Promise.all(vault.versions("server").map(keyOf));
  checkTemplateKeys(template, caller, {
    serverKey: await keyOf(serverKeyVersion),
    nextServerKey: isBehind ? await keyOf(serverKeyVersion + 1) : undefined,
    others: [...servers, ...(await ownPublicKeys(vault, chainName))],
  });
}

/**
 * Checks that depend on the signing history: templates kept from before a freeze, keys that were revoked,
 * delays that are over. Records what is to be signed now.
 */
export async function checkHistory(
  options: Pick<SignOptions, "revokedKeys" | "delay" | "clock" | "signedTemplates" | "unfrozenAt" | "chain">,
  decoded: DecodedMessage,
  template: Template | undefined,
  token: VerifiedToken,
  account: Binding,
): Promise<void> {
  if (!template) return;
  const { revokedKeys, delay, clock } = options;
  checkNotOwnKey(template, token);
  await checkNoLaterKept(options, decoded, account);
  await checkNotBroughtBack(revokedKeys, template, account, token);
  await delay(decoded, template, token, account);
  await noteRevocation(revokedKeys, template, account, clock.now());
}

/** What is no template is read, and goes by the script's rules; a script that was read before costs no wait. */
export async function checkFreeScript(
  scripts: KnownScripts,
  { script, authorizers }: DecodedMessage,
  { policy, scriptHash }: Deciding,
  requester: string,
): Promise<void> {
  if (!mustBeRead(scriptHash, policy)) return;
  const facts = scripts.known(scriptHash, requester) ?? (await scripts.learn(scriptHash, script, requester));
  checkScript(facts, { policy, authorizers: authorizers.length });
}

/** The last rule: whatever another one refused was no use. */
export async function countEphemeralUse(
  { ephemeralUses, clock }: Pick<SignOptions, "ephemeralUses" | "clock">,
  token: VerifiedToken,
  operation: "transaction" | "paymaster",
): Promise<void> {
  if (token.scope !== "sign") return;
  // An ephemeral token's session is the request that it was issued for.
  if (!(await ephemeralUses.use(token.sessionId, operation, EPHEMERAL_USES, clock.now()))) {
    refuse("OutsideEphemeralScope", `this token was used ${EPHEMERAL_USES} times`);
  }
}

/** The vault's key of an account. */
export const serverKeyOf = ({ chainName, accountId, serverKeyVersion: version }: Binding) => ({
  role: "server" as const,
  chainName,
  accountId,
  version,
});
