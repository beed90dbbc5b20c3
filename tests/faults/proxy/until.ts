import { setTimeout as sleep } from "node:timers/promises";

/** Reads until there are no complaints; throws them after `ms`. */
export async function untilNone(what: string, complaints: () => Promise<string[]>, ms = 30_000): Promise<void> {
  const end = performance.now() + ms;
  for (let wait = 25; ; wait = Math.min(wait * 2, 250)) {
    const left = await complaints();
    if (left.length === 0) return;
    if (performance.now() > end) throw new Error(`${what}: ${left.join("; ")}`);
    await sleep(wait);
  }
}
