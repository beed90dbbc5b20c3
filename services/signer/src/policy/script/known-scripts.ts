import { AppError, type Clock } from "@countersign/core";
import { notUnderstood, type ScriptFacts } from "./script-facts.ts";

/** Reads scripts; see parser/parser-pool.ts. */
export interface ScriptReader {
  facts(script: string, sender: string): Promise<ScriptFacts>;
}

export interface KnownScriptsOptions {
  /** Undefined where there is no parser: then no script is understood. */
  readonly reader: ScriptReader | undefined;
  readonly clock: Clock;
  /** Scripts of several senders that are remembered; the least recently used is forgotten first. */
  readonly capacity?: number;
  /** Scripts of one sender alone that are remembered: of all senders together, and of each. */
  readonly ownCapacity?: number;
  readonly ownPerSender?: number;
  /** New scripts of one sender that are read or wait at the same time. */
  readonly perSender?: number;
}

/** A sender of scripts is an account, or "explain" for scripts that are only explained. */
export interface KnownScripts {
  /** Returns the facts if they are known. Only the first signature of a script has to learn them. */
  known(scriptHash: string, sender: string): ScriptFacts | undefined;
  /**
   * Reads the script, once for all who ask meanwhile. Errors: RateLimited when too many new scripts of the
   * sender, or of everybody, wait.
   */
  learn(scriptHash: string, script: string, sender: string): Promise<ScriptFacts>;
  readonly size: number;
}

interface Entry {
  readonly facts: ScriptFacts;
  readonly until: number;
  /** The only sender so far; undefined once there was another. */
  owner: string | undefined;
}

/**
 * A script may have failed because of the signer itself, such as a killed worker: it is read again after
 * this.
 */
const RETRY_MS = 60_000;

/** Moves a key to the end, where what was used last is. */
function touch<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key);
  map.set(key, value);
}

/**
 * Keeps the facts of syntax trees by SHA-256 of the script. Facts only: the rules decide each time.
 *
 * A script that a single sender has used is in a small part of its own, where each sender has a few
 * places: no number of new scripts that one account sends makes the signer forget what others use.
 */
export function createKnownScripts(options: KnownScriptsOptions): KnownScripts {
  const { reader, clock, capacity = 768, ownCapacity = 256, ownPerSender = 8, perSender = 4 } = options;
  const shared = new Map<string, Entry>();
  const own = new Map<string, Entry>();
  const ownOf = new Map<string, Set<string>>();
  const learning = new Map<string, Promise<ScriptFacts>>();
  const waiting = new Map<string, number>();

  const forgetOwn = (hash: string) => {
    const owner = own.get(hash)?.owner;
    own.delete(hash);
    if (owner === undefined) return;
    const hashes = ownOf.get(owner);
    hashes?.delete(hash);
    if (hashes?.size === 0) ownOf.delete(owner);
  };

  const keepOwn = (hash: string, entry: Entry, owner: string) => {
    forgetOwn(hash);
    own.set(hash, entry);
    const hashes = ownOf.get(owner) ?? new Set<string>();
    ownOf.set(owner, hashes.add(hash));
    const [oldestOfOwner = ""] = hashes;
    if (hashes.size > ownPerSender) forgetOwn(oldestOfOwner);
    const [oldest = ""] = own.keys();
    if (own.size > ownCapacity) forgetOwn(oldest);
  };

  const share = (hash: string, entry: Entry) => {
    forgetOwn(hash);
    entry.owner = undefined;
    touch(shared, hash, entry);
    const [oldest = ""] = shared.keys();
    if (shared.size > capacity) shared.delete(oldest);
  };

  const read = async (from: ScriptReader, hash: string, script: string, sender: string) => {
    const facts = await from.facts(script, sender);
    const until = facts.problem === "" ? Number.POSITIVE_INFINITY : clock.now().getTime() + RETRY_MS;
    keepOwn(hash, { facts, until, owner: sender }, sender);
    return facts;
  };

  return {
    known(hash, sender) {
      const entry = shared.get(hash) ?? own.get(hash);
      if (!entry) return undefined;
      if (entry.until <= clock.now().getTime()) {
        shared.delete(hash);
        forgetOwn(hash);
        return undefined;
      }
      if (entry.owner === undefined || entry.owner !== sender) share(hash, entry);
      else keepOwn(hash, entry, entry.owner);
      return entry.facts;
    },
    async learn(hash, script, sender) {
      if (!reader) return notUnderstood("the signer has no parser");
      const begun = learning.get(hash);
      if (begun) return begun;
      const count = waiting.get(sender) ?? 0;
      if (count >= perSender)
        throw new AppError("RateLimited", { detail: "too many new scripts", retryAfterSeconds: 1 });
      waiting.set(sender, count + 1);
      const work = read(reader, hash, script, sender).finally(() => {
        learning.delete(hash);
        const left = (waiting.get(sender) ?? 1) - 1;
        if (left > 0) waiting.set(sender, left);
        else waiting.delete(sender);
      });
      learning.set(hash, work);
      return work;
    },
    get size() {
      return shared.size + own.size;
    },
  };
}
