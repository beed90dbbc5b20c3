import { AppError, type Clock, type VerifiedToken } from "@countersign/core";
import type { Backend } from "@countersign/rpc";
import { refusal } from "./refusal.ts";

const MINUTE_MS = 60_000;

/**
 * Makes the check of callers that are other backends: they sign for users of their own apps, where accounts
 * are configured for those only, and up to a number of signatures per minute and process. The check counts
 * the request. Its errors: SigningRefused (NotYourApp, NotYourAccount), RateLimited.
 */
export function createBackendCheck(backend: (caller: string) => Backend | undefined, clock: Clock) {
  let minute = 0;
  const counts = new Map<string, number>();
  return function checkBackend(caller: string, token: VerifiedToken): void {
    const rules = backend(caller);
    if (!rules) return;
    if (!rules.apps.has(token.appId)) throw refusal("NotYourApp", "the token is of an app that is not the caller's");
    if (rules.accounts?.has(token.accountId) === false)
      throw refusal("NotYourAccount", "the account is not the caller's");
    if (rules.signaturesPerMinute === undefined) return;
    const now = clock.now().getTime();
    if (Math.floor(now / MINUTE_MS) !== minute) counts.clear();
    minute = Math.floor(now / MINUTE_MS);
    const count = (counts.get(caller) ?? 0) + 1;
    counts.set(caller, count);
    if (count > rules.signaturesPerMinute)
      throw new AppError("RateLimited", { retryAfterSeconds: Math.ceil(((minute + 1) * MINUTE_MS - now) / 1000) });
  };
}
export type BackendCheck = ReturnType<typeof createBackendCheck>;
