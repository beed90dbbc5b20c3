import { setTimeout as sleep } from "node:timers/promises";

/** Reads again and again until nothing is complained about; after `ms` the complaints are the error. */
export async function untilNone(what: string, complaints: () => Promise<string[]>, ms = 30_000): Promise<void> {
  const end = performance.now() + ms;
  for (let wait = 25; ; wait = Math.min(wait * 2, 250)) {
    const left = await complaints();
    if (left.length === 0) return;
    if (performance.now() > end) throw new Error(`${what}: ${left.join("; ")}`);
    await sleep(wait);
  }
}
