import type { Clock } from "@countersign/core";
import { samePublicKey } from "@countersign/keys";
import type { AccountKeys, ChainDirectory, ChainKey, ChainKeys, KeyStore, NewId } from "./ports.ts";
import { isActive, OF_USER_KEY, type Registration, signsIn } from "./registration.ts";

interface FollowChainOptions {
  store: KeyStore;
  chain: Pick<ChainDirectory<never>, "list">;
  clock: Clock;
  newId: NewId;
  /** How long a key may be on chain before it is reported as unregistered, in milliseconds. */
  alertAfterMs: number;
}

export interface FollowChain {
  accountId: string;
  requestId: string;
  /**
   * A change that must be included: a node that lags behind has to be read again. Its chain is followed also
   * where another one is away.
   */
  atLeast?: { chainName: string; height: bigint };
}

/**
 * Active unregistered keys that are listed on one chain: the person may add thousands without the service.
 * Revoked keys are listed only while fewer are listed in all, and the oldest give way to active ones.
 */
const MAX_UNREGISTERED = 200;

interface Round {
  keys: AccountKeys;
  accountId: string;
  requestId: string;
  now: Date;
}

/**
 * Updates the account's registrations from its chains: revocations, indexes and weights are copied, a
 * reported recovery key is confirmed, an unregistered key is listed. Idempotent; a node's old answer restores
 * nothing.
 * Errors: those of the account service, also where only the chain of `atLeast` was followed and the account
 * may have left; Error where the node lags behind.
 */
export function followChain({ store, chain, clock, newId, alertAfterMs }: FollowChainOptions) {
  async function discover({ keys, accountId, now }: Round, chainName: string, found: ChainKey): Promise<Registration> {
    const { publicKey, index: keyIndex, weight, role, revoked } = found;
    const registration: Registration = {
      ...OF_USER_KEY,
      id: newId(),
      accountId,
      chainName,
      app: { appId: "", appName: "" },
      type: "device",
      accountKey: publicKey,
      deviceKey: publicKey,
      name: "",
      keyIndex,
      weight,
      kind: role === "recovery" ? "recovery" : "user",
      origin: "chain",
      // A key that was added and revoked between two reads is listed, without an alert.
      alertAt: revoked ? null : new Date(now.getTime() + alertAfterMs),
      createdAt: now,
      lastUsedAt: null,
      revokedAt: revoked ? now : null,
    };
    await keys.insert(registration);
    return registration;
  }

  async function confirm({ keys, now, requestId }: Round, reported: Registration, found: ChainKey) {
    const { index: keyIndex, weight } = found;
    const registration: Registration = { ...reported, keyIndex, weight, pendingUntil: null };
    await keys.update(registration);
    await keys.publish({ type: "key-registered", registration, occurredAt: now, requestId });
    return registration;
  }

  async function revoke({ keys, now, requestId }: Round, known: Registration, rest: Registration[]): Promise<void> {
    const registration: Registration = { ...known, revokedAt: now, alertAt: null };
    await keys.update(registration);
    const others = rest.some((other) => signsIn(other) && samePublicKey(other.deviceKey, known.deviceKey));
    const lastOfDevice = known.kind === "user" && known.origin !== "chain" && !others;
    await keys.publish({ type: "key-revoked", registration, lastOfDevice, occurredAt: now, requestId });
  }

  /** Runs before additions: a key that was revoked and added again is a new one. */
  async function revocations(round: Round, { chainName, keys: onChain }: ChainKeys): Promise<void> {
    const byIndex = new Map(onChain.map((key) => [key.index, key]));
    const all = await round.keys.all();
    const revoked = new Set<Registration>();
    for (const known of all) {
      const found = byIndex.get(known.keyIndex);
      if (!found || known.chainName !== chainName || !isActive(known)) continue;
      if (found.revoked) {
        revoked.add(known);
        const rest = all.filter((each) => !revoked.has(each));
        await revoke(round, known, rest);
      } else if (known.weight !== found.weight) await round.keys.update({ ...known, weight: found.weight });
    }
  }

  async function additions(round: Round, { chainName, keys: onChain }: ChainKeys): Promise<void> {
    const all = (await round.keys.all()).filter((each) => each.chainName === chainName);
    const indexes = new Set(all.map(({ keyIndex }) => keyIndex));
    const active = new Map(all.filter(({ revokedAt }) => !revokedAt).map((each) => [each.accountKey.publicKey, each]));
    const unregistered = all.filter(({ origin }) => origin === "chain");
    const former = unregistered.filter(({ revokedAt }) => revokedAt);
    let listedEver = unregistered.length;
    let listedActive = listedEver - former.length;
    for (const found of onChain) {
      if (found.role === "server" || indexes.has(found.index)) continue;
      const { publicKey } = found.publicKey;
      const same = found.revoked ? undefined : active.get(publicKey);
      const reported = same?.pendingUntil != null && samePublicKey(same.accountKey, found.publicKey);
      if (same && reported && found.role === "recovery") active.set(publicKey, await confirm(round, same, found));
      // The same key at two indexes is listed once; a report that the chain contradicts must not hide a key.
      else if (
        (!same || same.pendingUntil !== null) &&
        (found.revoked ? listedEver : listedActive) < MAX_UNREGISTERED
      ) {
        if (same) await round.keys.remove(same.id);
        const listed = await discover(round, chainName, found);
        const oldest = listedEver >= 2 * MAX_UNREGISTERED ? former.shift() : undefined;
        if (oldest) await round.keys.remove(oldest.id);
        else listedEver += 1;
        if (found.revoked) continue;
        active.set(publicKey, listed);
        listedActive += 1;
      }
    }
  }

  async function expirePending({ keys, now }: Round): Promise<void> {
    for (const { id, pendingUntil } of await keys.all()) {
      if (pendingUntil !== null && pendingUntil <= now) await keys.remove(id);
    }
  }

  /**
   * Returns whether the account has left. Leaving is final, so the chain must show a revoked server key and
   * no active one; an empty answer does not count.
   */
  const hasLeft = ({ keys }: ChainKeys): boolean => {
    const servers = keys.filter(({ role }) => role === "server");
    return servers.length > 0 && servers.every(({ revoked }) => revoked);
  };

  return async ({ accountId, requestId, atLeast }: FollowChain): Promise<void> => {
    let away: unknown;
    const chains = await chain.list(accountId).catch((error: unknown) => {
      if (!atLeast) throw error;
      away = error;
      return chain.list(accountId, atLeast.chainName);
    });
    const seen = chains.find(({ chainName }) => chainName === atLeast?.chainName);
    if (atLeast && seen && seen.height < atLeast.height)
      throw new Error(
        `the node has not seen the change yet: it is at height ${seen.height}, the change at ${atLeast.height}`,
      );
    await store.withAccount(accountId, async (keys) => {
      const round = { keys, accountId, requestId, now: clock.now() };
      for (const each of chains) {
        await revocations(round, each);
        await additions(round, each);
      }
      await expirePending(round);
      const left = away === undefined && chains.length > 0 && chains.every(hasLeft);
      if (left && (await keys.leave(round.now))) {
        await keys.publish({ type: "account-left", accountId, occurredAt: round.now });
      }
    });
    // Other chains have events of their own; whether the account has left shows only all of them together.
    if (away !== undefined && chains.every(hasLeft)) throw away;
  };
}
