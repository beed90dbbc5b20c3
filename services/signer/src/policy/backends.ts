import { AppError, type Clock, type VerifiedToken } from "@countersign/core";
import type { Backend } from "@countersign/rpc";
import { refuse } from "./refusal.ts";

const MINUTE_MS = 60_000;

/**
 * The rules of backends besides our own services: users of their own apps only, of these the accounts that they may where any are named, and so many signatures a minute of this process. Errors of the check:
 * SigningRefused (NotYourApp, NotYourAccount), RateLimited.
 */
export function createBackendCheck(backend: (caller: string) => Backend | undefined, clock: Clock) {
  let minute = 0;
  const counts = new Map<string, number>();
  return function checkBackend(caller: string, token: VerifiedToken): void {
    const rules = backend(caller);
    if (!rules) return;
    if (!rules.apps.has(token.appId)) refuse("NotYourApp", "the token is of an app that is not the caller's");
    if (rules.accounts?.has(token.accountId) === false) refuse("NotYourAccount", "the account is not the caller's");
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
