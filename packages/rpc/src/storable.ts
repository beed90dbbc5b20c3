import { invalidField } from "@countersign/core";

/** The range of protobuf's Timestamp, in milliseconds: the years 1 to 9999. */
const EARLIEST_MS = -62_135_596_800_000;
const LATEST_MS = 253_402_300_799_999;

/** Returns the JSON pointer of the first text or time that Postgres does not store. */
function unstorable(value: unknown): string | undefined {
  if (typeof value === "string") return value.includes("\0") ? "" : undefined;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return undefined;
  if (value instanceof Date) return value.getTime() >= EARLIEST_MS && value.getTime() <= LATEST_MS ? undefined : "";
  for (const name in value) {
    const pointer = unstorable(value[name as keyof typeof value]);
    if (pointer !== undefined) return `/${name}${pointer}`;
  }
  return undefined;
}

/**
 * Refuses a decoded request with a text or a time that Postgres does not store: where several requests share
 * a statement, it would fail for all of them. Errors: InvalidRequest.
 */
export function requireStorable(request: unknown): void {
  const pointer = unstorable(request);
  if (pointer !== undefined) throw invalidField(pointer, "has NUL, or is no time of the years 1 to 9999");
}
