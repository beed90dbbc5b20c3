import { AppError } from "@countersign/errors";
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
  /** New scripts of one asker that are read or wait at the same time: nobody fills the readers' queue alone. */
  readonly perAsker?: number;
}

export interface KnownScripts {
  /** What is known already; the way of every signature but the first of its script. */
  known(scriptHash: string): ScriptFacts | undefined;
  /** Reads the script, once for all who ask meanwhile. `asker`: an account, or whoever else asks. Errors: RateLimited where too many new scripts of the asker, or of everybody, wait. */
  learn(scriptHash: string, script: string, asker: string): Promise<ScriptFacts>;
  readonly size: number;
}

/** What was not understood may have been our own weakness, a worker that was killed: it is tried again after this. */
const RETRY_MS = 60_000;

/**
 * What syntax trees say, by SHA-256 of the script. Facts only: what is allowed is decided anew each time.
 */
export function createKnownScripts(options: KnownScriptsOptions): KnownScripts {
  const { reader, clock, capacity = 1024, perAsker = 4 } = options;
  const facts = new Map<string, { facts: ScriptFacts; until: number }>();
  const learning = new Map<string, Promise<ScriptFacts>>();
  const waiting = new Map<string, number>();

  const keep = (hash: string, found: ScriptFacts) => {
    const until = found.problem === "" ? Number.POSITIVE_INFINITY : clock.now().getTime() + RETRY_MS;
    facts.delete(hash);
    facts.set(hash, { facts: found, until });
    for (const oldest of facts.keys()) {
      if (facts.size <= capacity) break;
      facts.delete(oldest);
    }
  };

  const read = async (from: ScriptReader, hash: string, script: string) => {
    const found = await from.facts(script);
    keep(hash, found);
    return found;
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
    async learn(hash, script, asker) {
      if (!reader) return notUnderstood("the signer has no parser");
      const begun = learning.get(hash);
      if (begun) return begun;
      const count = waiting.get(asker) ?? 0;
      if (count >= perAsker)
        throw new AppError("RateLimited", { detail: "too many new scripts", retryAfterSeconds: 1 });
      waiting.set(asker, count + 1);
      const work = read(reader, hash, script).finally(() => {
        learning.delete(hash);
        const left = (waiting.get(asker) ?? 1) - 1;
        if (left > 0) waiting.set(asker, left);
        else waiting.delete(asker);
      });
      learning.set(hash, work);
      return work;
    },
    get size() {
      return facts.size;
    },
  };
}
