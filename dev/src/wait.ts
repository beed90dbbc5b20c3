import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "./child.ts";

/** Polls `url` until it answers 200; calls `failed` when the child ends first or after `timeoutMs`. */
export async function waitFor(
  child: Child,
  url: string,
  failed: (why: string) => Promise<never>,
  timeoutMs = 90_000,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    if (!child.running()) return failed(`ended with ${await child.exited}`);
    if (performance.now() > deadline) return failed(`was not ready after ${timeoutMs / 1000} s`);
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
      await response.arrayBuffer();
      if (response.ok) return;
    } catch {
      // Not listening yet.
    }
    await sleep(80);
  }
}
