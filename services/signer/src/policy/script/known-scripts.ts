import type { Clock } from "@countersign/service-kit";
import { notUnderstood, type ScriptFacts } from "./script-facts.ts";

/** Reads scripts; see parser/parser-pool.ts. */
export interface ScriptReader {
  facts(script: string): Promise<ScriptFacts>;
}

export interface KnownScriptsOptions {
  /** Undefined where there is no parser: then no script is understood. */
  readonly reader: ScriptReader | undefined;
  readonly clock: Clock;
  /** Scripts remembered, the least used forgotten first. */
  readonly capacity?: number;
}

export interface KnownScripts {
  /** What is known already; the way of every signature but the first of its script. */
  known(scriptHash: string): ScriptFacts | undefined;
  /** Reads the script, once for all who ask meanwhile. */
  learn(scriptHash: string, script: string): Promise<ScriptFacts>;
  readonly size: number;
}

/** What was not understood may have been our own weakness, a worker that was killed: it is tried again after this. */
const RETRY_MS = 60_000;

/**
 * What syntax trees say, by SHA-256 of the script. Facts only: what is allowed is decided anew each time.
 */
export function createKnownScripts({ reader, clock, capacity = 1024 }: KnownScriptsOptions): KnownScripts {
  const facts = new Map<string, { facts: ScriptFacts; until: number }>();
  const learning = new Map<string, Promise<ScriptFacts>>();

  const keep = (hash: string, found: ScriptFacts) => {
    const until = found.problem === "" ? Number.POSITIVE_INFINITY : clock.now().getTime() + RETRY_MS;
    facts.delete(hash);
    facts.set(hash, { facts: found, until });
    for (const oldest of facts.keys()) {
      if (facts.size <= capacity) break;
      facts.delete(oldest);
    }
  };

  return {
    known(hash) {
      const entry = facts.get(hash);
      if (!entry) return undefined;
      facts.delete(hash);
      if (entry.until <= clock.now().getTime()) return undefined;
      facts.set(hash, entry);
      return entry.facts;
    },
    async learn(hash, script) {
      if (!reader) return notUnderstood("the signer has no parser");
      const begun =
        learning.get(hash) ??
        reader
          .facts(script)
          .then((found) => {
            keep(hash, found);
            return found;
          })
          .finally(() => learning.delete(hash));
      learning.set(hash, begun);
      return begun;
    },
    get size() {
      return facts.size;
    },
  };
}
