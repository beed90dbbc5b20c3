import type { Session } from "../devices/device.ts";
import type { TwoFactorPorts } from "./ports.ts";

/**
 * Accepts new requests for the session's account again: earlier rejections no longer count.
 *
 * Writes: the time of the reopening, under the account's lock. Repeating it moves the time.
 */
export function reopenTwoFactor({ requests, clock }: Pick<TwoFactorPorts, "requests" | "clock">) {
  return ({ session }: { session: Session }): Promise<void> =>
    requests.withAccount(session.accountId, (account) => account.reopen(clock.now()));
}
