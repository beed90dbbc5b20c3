import { readFileSync, statSync } from "node:fs";
import type { Logger } from "@countersign/core";
import { startPeriodicJob } from "@countersign/runtime";
import { DEFAULT_POLICY, type Policy, PolicyError, type PolicySource, parsePolicy } from "./policy.ts";

export interface PolicyFileOptions {
  /** Undefined: the default policy, for ever. */
  readonly file: string | undefined;
  /** Called with each policy that takes effect, the first one included. */
  readonly onLoaded: (policy: Policy) => void;
  /** Called when a new file is not a valid policy: the old policy stays. */
  readonly onRefused: (error: Error) => void;
  readonly logger: Logger;
  readonly intervalMs?: number;
}

export interface PolicyFile extends PolicySource {
  /** Reads the file now; for SIGHUP. */
  reload(): void;
  close(): Promise<void>;
}

function read(file: string): Policy {
  try {
    return parsePolicy(JSON.parse(readFileSync(file, "utf8")));
  } catch (error) {
    throw error instanceof PolicyError ? error : new PolicyError((error as Error).message);
  }
}

/** Returns a text that changes with the file or its content; follows links. */
function stateOf(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join();
  } catch {
    return "unreadable";
  }
}

/**
 * Loads the policy of a file, and again when the file changes. It is checked every second, so that a replaced
 * file, or one behind a link that moves, is noticed. Errors: PolicyError where the first one is not valid.
 */
export function watchPolicyFile(options: PolicyFileOptions): PolicyFile {
  const { file, onLoaded, onRefused, logger, intervalMs = 1000 } = options;
  if (file === undefined) {
    onLoaded(DEFAULT_POLICY);
    return { current: () => DEFAULT_POLICY, reload: () => undefined, close: async () => undefined };
  }
  // The state is taken before the file is read, so that a change in between is noticed the next time.
  let seen = stateOf(file);
  let policy = read(file);
  onLoaded(policy);
  const reload = () => {
    seen = stateOf(file);
    try {
      policy = read(file);
      onLoaded(policy);
    } catch (error) {
      onRefused(error as Error);
    }
  };
  const run = async () => {
    if (stateOf(file) !== seen) reload();
  };
  const job = startPeriodicJob({ job: "policy file", intervalMs, logger, run });
  return { current: () => policy, reload, close: job.close };
}
