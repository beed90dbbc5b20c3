import { AppError, isUuid } from "@countersign/core";

/** Errors: InvalidRequest where one is not a UUID. */
export function requireAccountIds(ids: readonly string[], pointer: string): void {
  if (!ids.every(isUuid)) throw new AppError("InvalidRequest", { fields: [{ pointer, detail: "not a UUID" }] });
}
