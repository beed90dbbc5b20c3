import type { Session } from "../devices/device.ts";
import type { TwoFactorPorts } from "./ports.ts";

/** Lets new requests in again: rejections so far count no longer. */
export function reopenTwoFactor({ requests, clock }: Pick<TwoFactorPorts, "requests" | "clock">) {
  return ({ session }: { session: Session }): Promise<void> =>
    requests.withAccount(session.accountId, (account) => account.reopen(clock.now()));
}
