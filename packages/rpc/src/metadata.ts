import { randomUUID } from "node:crypto";
import { isIP } from "node:net";

export const REQUEST_ID = "x-request-id";
export const TRACEPARENT = "traceparent";
export const AUTHORIZATION = "authorization";
export const CLIENT_IP = "x-client-ip";

const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{8,64}$/;
// Without a count: counting each character takes twice as long.
const BEARER = /^Bearer ([A-Za-z0-9_.-]+)$/;
const MAX_AUTHORIZATION_LENGTH = "Bearer ".length + 8_192;

/** The reading part of gRPC metadata. */
export interface Values {
  get(key: string): (string | Buffer)[];
}

/** Returns the only value of a key; several values count as none. */
export function singleValue(metadata: Values, key: string): string | undefined {
  const values = metadata.get(key);
  const [value] = values;
  return values.length === 1 && typeof value === "string" ? value : undefined;
}

/** Returns the caller's request id if it is valid, else a new one (UUIDv4). */
export function requestIdFrom(value: string | undefined): string {
  return value !== undefined && SANE_REQUEST_ID.test(value) ? value : randomUUID();
}

/** Returns the token of an authorization value: undefined without one, null where it is malformed. */
export function bearerFrom(metadata: Values): string | null | undefined {
  const [value, ...others] = metadata.get(AUTHORIZATION);
  if (value === undefined) return undefined;
  if (others.length > 0 || typeof value !== "string" || value.length > MAX_AUTHORIZATION_LENGTH) return null;
  return BEARER.exec(value)?.[1] ?? null;
}

export function clientIpFrom(metadata: Values): string | undefined {
  const value = singleValue(metadata, CLIENT_IP);
  return value !== undefined && isIP(value) !== 0 ? value : undefined;
}
