import { expect } from "vitest";
import { countCovered, newAuditProcess } from "./audit-process.ts";

export const HOUR_MS = 3_600_000;

/** Waits until checkpoints cover so many records. */
export const isCovered = (count: number) => expect.poll(countCovered).toBe(count);

/**
 * Two signers. Before `before`: a closed chain of 20 records, and open ones of 1500 and 30; then 700 and 5
 * more of these.
 */
export async function newWorld() {
  let ahead = 0;
  const clock = { now: () => new Date(Date.now() + ahead) };
  const moveOn = (ms: number) => {
    ahead += ms;
  };
  const [one, other] = ["one", "other"].map((name) => newAuditProcess(name, true, { clock })) as [
    ReturnType<typeof newAuditProcess>,
    ReturnType<typeof newAuditProcess>,
  ];
  const closed = await one.write(20);
  await isCovered(20);
  moveOn(1.1 * HOUR_MS);
  const early = await one.write(1500);
  await other.write(30);
  await isCovered(1530);
  moveOn(1000);
  const before = clock.now();
  moveOn(1000);
  const late = await one.write(700);
  await other.write(5);
  await isCovered(2235);
  return { one, other, clock, moveOn, before, closed, early, late };
}
