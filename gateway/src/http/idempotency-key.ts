import { AppError } from "@countersign/core";

// Bare or as the string item of RFC 9651 that draft-ietf-httpapi-idempotency-key-header asks for.
const IDEMPOTENCY_KEY = /^(?:"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x7e]{1,255}))$/;

/** The key of an Idempotency-Key header; "" without one. Errors: InvalidRequest. */
export function readIdempotencyKey(header: string | string[] | undefined): string {
  if (header === undefined) return "";
  const match = typeof header === "string" ? IDEMPOTENCY_KEY.exec(header) : null;
  const key = match?.[1] ?? match?.[2];
  if (key === undefined) {
    throw new AppError("InvalidRequest", {
      detail: "Idempotency-Key is one string of 1 to 255 visible ASCII characters",
    });
  }
  return key;
}
