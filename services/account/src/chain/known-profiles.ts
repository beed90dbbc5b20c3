import { type Clock, sleepUntil } from "@countersign/core";
import { LRUCache } from "lru-cache";
import type { AccountAddress } from "../domain/accounts/account.ts";
import { NO_PROFILE, type Profile, type ProfileLookup, type Profiles } from "../domain/accounts/profiles.ts";

export interface ProfilesOptions {
  /** By chain name; chains without name services are missing. */
  readonly lookups: ReadonlyMap<string, ProfileLookup>;
  readonly clock: Clock;
  /** The first request for a profile waits this long for its lookup; default 200. */
  readonly waitMs?: number;
  /** Milliseconds for one lookup; default 3000. */
  readonly timeLimitMs?: number;
}

interface Entry {
  profile: Profile;
  /** From when on it is looked up again, which answers do not wait for. */
  staleAt: number;
  pending: Promise<void> | undefined;
}

const FRESH_MS = 10 * 60_000;
const AFTER_FAILURE_MS = 60_000;
const MAX_ENTRIES = 20_000;
/** A node that hangs must not collect our lookups. */
const MAX_PENDING = 32;

/** Caches names and pictures of addresses: an answer waits for a first lookup only, and only a short time. */
export function createProfiles(options: ProfilesOptions): Profiles {
  const { lookups, clock, waitMs = 200, timeLimitMs = 3_000 } = options;
  const entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });
  let pending = 0;

  async function lookUp(lookup: ProfileLookup, address: string, entry: Entry): Promise<void> {
    pending += 1;
    let freshMs = AFTER_FAILURE_MS;
    try {
      entry.profile = await lookup(address, AbortSignal.timeout(timeLimitMs));
      freshMs = FRESH_MS;
    } catch {
      // The last known profile stays. Names are for display only, so a failed lookup is no error.
    } finally {
      pending -= 1;
      entry.staleAt = clock.now().getTime() + freshMs;
      entry.pending = undefined;
    }
  }

  /** Returns the lookup to wait for, where nothing is known yet. */
  function touch({ chainName, chainType, address }: AccountAddress): Promise<void> | undefined {
    const lookup = chainType === "cadence" ? lookups.get(chainName) : undefined;
    if (!lookup) return undefined;
    const key = `${chainName}/${address}`;
    const entry = entries.get(key) ?? { profile: NO_PROFILE, staleAt: 0, pending: undefined };
    entries.set(key, entry);
    const isNew = entry.staleAt === 0;
    if (!entry.pending && entry.staleAt <= clock.now().getTime() && pending < MAX_PENDING) {
      entry.pending = lookUp(lookup, address, entry);
    }
    return isNew ? entry.pending : undefined;
  }

  return {
    async of({ addresses, parents }) {
      const first = [...addresses, ...parents].map(touch).filter((each) => each !== undefined);
      if (first.length > 0) {
        const known = new AbortController();
        await Promise.race([Promise.all(first), sleepUntil(waitMs, [known.signal])]);
        known.abort();
      }
      return ({ chainName, address }) => entries.get(`${chainName}/${address}`)?.profile ?? NO_PROFILE;
    },
  };
}
