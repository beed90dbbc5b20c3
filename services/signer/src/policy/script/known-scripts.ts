import { AppError, type Clock, countUnderWay } from "@countersign/core";
import { LRUCache } from "lru-cache";
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
}

/** A sender of scripts is an account, or "explain" for scripts that are only explained. */
export interface KnownScripts {
  /** Returns the facts if they are known. Only the first signature of a script has to learn them. */
  known(scriptHash: string, sender: string): ScriptFacts | undefined;
  /**
   * Reads the script, once for all callers that ask meanwhile. Errors: RateLimited when too many new scripts
   * of the sender, or of all senders, wait.
   */
  learn(scriptHash: string, script: string, sender: string): Promise<ScriptFacts>;
  readonly size: number;
}

interface Entry {
  readonly facts: ScriptFacts;
  readonly until: number;
  /** The sender for which it was read. */
  readonly sender: string;
}

/** New scripts of one sender that are read or wait at the same time. */
const PER_SENDER = 4;
/** A script may have failed because of the signer itself, such as a killed worker: then it is read again. */
const RETRY_MS = 60_000;

/**
 * Keeps the facts of syntax trees by SHA-256 of the script. Facts only: the rules decide each time.
 *
 * Scripts that a single sender has used are in a small cache of their own, where each sender has a few
 * places: no number of new scripts that one account sends makes the signer forget what others use.
 */
export function createKnownScripts(options: KnownScriptsOptions): KnownScripts {
  const { reader, clock, capacity = 768, ownCapacity = 256, ownPerSender = 8 } = options;
  const shared = new LRUCache<string, Entry>({ max: capacity });
  const own = new LRUCache<string, Entry>({ max: ownCapacity });
  const learning = new Map<string, Promise<ScriptFacts>>();
  const waiting = countUnderWay();

  const read = async (from: ScriptReader, hash: string, script: string, sender: string) => {
    const facts = await from.facts(script, sender);
    const until = facts.problem === "" ? Number.POSITIVE_INFINITY : clock.now().getTime() + RETRY_MS;
    // Before the new one is added: a full cache would drop the script of another sender for it.
    const latestFirst = [...own.entries()].filter(([other, entry]) => entry.sender === sender && other !== hash);
    for (const [other] of latestFirst.slice(ownPerSender - 1)) own.delete(other);
    own.set(hash, { facts, until, sender });
    return facts;
  };

  return {
    known(hash, sender) {
      const entry = shared.get(hash) ?? own.get(hash);
      if (!entry) return undefined;
      if (entry.until <= clock.now().getTime()) {
        shared.delete(hash);
        own.delete(hash);
        return undefined;
      }
      if (entry.sender !== sender) {
        shared.set(hash, entry);
        own.delete(hash);
      }
      return entry.facts;
    },
    async learn(hash, script, sender) {
      if (!reader) return notUnderstood("the signer has no parser");
      const begun = learning.get(hash);
      if (begun) return begun;
      if (waiting.of(sender) >= PER_SENDER)
        throw new AppError("RateLimited", { detail: "too many new scripts", retryAfterSeconds: 1 });
      const end = waiting.begin(sender);
      const work = read(reader, hash, script, sender).finally(() => {
        learning.delete(hash);
        end();
      });
      learning.set(hash, work);
      return work;
    },
    get size() {
      return shared.size + own.size;
    },
  };
}
