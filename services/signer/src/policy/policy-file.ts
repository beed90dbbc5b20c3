import { readFileSync, unwatchFile, watchFile } from "node:fs";
import { DEFAULT_POLICY, type Policy, PolicyError, type PolicySource, parsePolicy } from "./policy.ts";

export interface PolicyFileOptions {
  /** Undefined: the default policy, for ever. */
  readonly file: string | undefined;
  /** Told of each policy that takes effect, the first one included. */
  readonly onLoaded: (policy: Policy) => void;
  /** Told when a new file is no policy: the old one stays. */
  readonly onRefused: (error: Error) => void;
  readonly intervalMs?: number;
}

export interface PolicyFile extends PolicySource {
  /** Reads the file now; for SIGHUP. */
  reload(): void;
  close(): void;
}

function read(file: string): Policy {
  try {
    return parsePolicy(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw error instanceof PolicyError ? error : new PolicyError((error as Error).message);
  }
}

/**
 * The policy of a file, and of what is written there later: looked at every second, so that a file that is replaced, or behind a link that moves, is seen as well.
 * Errors: PolicyError where the first one is none.
 */
export function watchPolicyFile({ file, onLoaded, onRefused, intervalMs = 1000 }: PolicyFileOptions): PolicyFile {
  let policy = file === undefined ? DEFAULT_POLICY : read(file);
  onLoaded(policy);
  const reload = () => {
    if (file === undefined) return;
    try {
      policy = read(file);
      onLoaded(policy);
    } catch (error) {
      onRefused(error as Error);
    }
  };
  if (file !== undefined) watchFile(file, { interval: intervalMs, persistent: false }, reload);
  return { current: () => policy, reload, close: () => file !== undefined && unwatchFile(file, reload) };
}
