import { AppError, isUuid } from "@countersign/core";

/** Errors: InvalidRequest where an account id is not a UUID. */
export function requireAccountIds(ids: readonly string[], pointer = "/accountId"): void {
  if (!ids.every(isUuid)) throw new AppError("InvalidRequest", { fields: [{ pointer, detail: "not a UUID" }] });
}

/** Errors: InvalidRequest where bytes are not of that length. */
export function requireLength(bytes: Uint8Array, length: number, name: string): void {
  if (bytes.length !== length) throw new AppError("InvalidRequest", { detail: `${name} must have ${length} bytes` });
}
