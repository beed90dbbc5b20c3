import type { PushKind } from "./push-kinds.ts";

/** A push: ids and a kind, never a secret. It is a hint and may be lost; clients read the API. */
export interface PushMessage {
  pushToken: string;
  /** Also the key of the text that the app shows, in its own language. */
  kind: PushKind;
  /** "" where it is not about a request. */
  twoFactorId: string;
  /** A later message of the same key replaces an earlier one; at most 64 ASCII characters. */
  collapseKey: string;
  /** Whether the person should see it; others only wake the app. */
  visible: boolean;
  /** After this it is of no use. */
  expiresAt: Date;
}

export interface PushAdapter {
  /**
   * Hands a message to the push service; "rejected" where the token is no longer valid.
   * Errors: PushDelayed (later it may work), PushRefused (it never will).
   */
  send(message: PushMessage): Promise<"sent" | "rejected">;
  close(): Promise<void>;
}

/** The push service did not accept the message now; a retry may succeed. */
export class PushDelayed extends Error {
  override readonly name = "PushDelayed";
  /** From the service's Retry-After; undefined without one. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { retryAfterMs?: number | undefined; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The push service refuses the message and would refuse it again. */
export class PushRefused extends Error {
  override readonly name = "PushRefused";
}

/** Returns the milliseconds of a Retry-After header, in seconds or as a date (RFC 9110, section 10.2.3). */
export function retryAfterMs(header: string | null | undefined, now: Date): number | undefined {
  if (!header) return undefined;
  if (/^\d{1,6}$/.test(header)) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}

const MAX_PROVIDER_CODE = /^[A-Za-z_]{1,64}$/;

/** Returns a push service's error code in a form that may be logged. */
export const codeOf = (value: unknown): string =>
  typeof value === "string" && MAX_PROVIDER_CODE.test(value) ? value : "without a code";
