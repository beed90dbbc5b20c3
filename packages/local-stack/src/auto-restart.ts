import { setTimeout as sleep } from "node:timers/promises";

export interface AutoRestartOptions {
  restart(name: string): Promise<void>;
  say(line: string): void;
  /** Milliseconds before the first attempt; each further one waits twice as long. */
  firstDelayMs?: number;
  attempts?: number;
}

/**
 * Restarts a process that ended, as a cluster would. The waits between attempts are for processes that cannot
 * start because another one is down as well. One loop restarts one process: if it ends while it starts, the
 * next attempt follows.
 */
export function createAutoRestart({ restart, say, firstDelayMs = 500, attempts = 6 }: AutoRestartOptions) {
  const returning = new Set<string>();
  return async (name: string): Promise<void> => {
    if (returning.has(name)) return;
    returning.add(name);
    try {
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        // Not a reason to stay for a stack that was stopped.
        await sleep(firstDelayMs * 2 ** attempt, undefined, { ref: false });
        try {
          await restart(name);
          return say(`${name} is back`);
        } catch (error) {
          say(`${name} did not come back: ${(error as Error).message.split("\n")[0]}`);
        }
      }
      say(`${name} stays away: stop the stack and start it again.`);
    } finally {
      returning.delete(name);
    }
  };
}
