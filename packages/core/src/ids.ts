import { randomUUID } from "node:crypto";
import type { Clock } from "./clock.ts";

/**
 * Returns a UUIDv7 (RFC 9562, section 5.7) of the clock's time: it sorts by creation. The rest is a UUIDv4's:
 * Node keeps random bytes for those ready.
 */
export function uuidv7(clock: Clock): string {
  const time = clock.now().getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}

/** Returns a random UUIDv4, for ids that must not reveal their time of creation. */
export function uuidv4(): string {
  return randomUUID();
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns whether a string is a UUID in canonical lower case. */
export function isUuid(value: string): boolean {
  return UUID.test(value);
}
