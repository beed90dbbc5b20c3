import { randomUUID } from "node:crypto";
import { v7 } from "uuid";
import type { Clock } from "./clock.ts";

/** Returns a UUIDv7 (RFC 9562, section 5.7) of the clock's time: it sorts by creation. */
export function uuidv7(clock: Clock): string {
  return v7({ msecs: clock.now().getTime() });
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
