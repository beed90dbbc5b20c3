import { randomInt, randomUUID } from "node:crypto";
import type { Clock } from "./clock.ts";

/**
 * Returns a UUIDv7 (RFC 9562, section 5.7) of the clock's time: it sorts by creation. The rest is a UUIDv4's:
 * Node keeps random bytes for those ready.
 */
export function uuidv7(clock: Clock): string {
  const time = clock.now().getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

let latest = { time: 0, count: 0 };

/**
 * Returns a UUIDv7 of this moment that sorts after all that this process made before, also of the same
 * millisecond or if the clock was set back: a part counts from a random start (RFC 9562, section 6.2).
 * Not for ids that nobody may guess.
 */
export function orderedUuidv7(): string {
  const time = Date.now();
  latest = time > latest.time ? { time, count: randomInt(2 ** 35) } : { ...latest, count: latest.count + 1 };
  const count = latest.count.toString(16).padStart(9, "0");
  const id = uuidv7({ now: () => new Date(latest.time) });
  return `${id.slice(0, 15)}${count.slice(0, 3)}-8${count.slice(3, 6)}-${count.slice(6)}${id.slice(-9)}`;
}

/** Returns a random UUIDv4, for ids that must not reveal their time of creation. */
export function uuidv4(): string {
  return randomUUID();
}

/** Of no account, no session: sorts before every other UUID. */
export const NIL_UUID = "00000000-0000-0000-0000-000000000000";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns whether a string is a UUID in canonical lower case. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}
