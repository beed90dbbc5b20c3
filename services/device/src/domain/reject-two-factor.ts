import { findOpenTwoFactor, notPending } from "./find-open-two-factor.ts";
import type { OfTwoFactor } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./two-factor-ports.ts";
import { rejecting } from "./two-factor-state.ts";

export interface RejectTwoFactor extends OfTwoFactor {
  /** A recovery key's session: a stolen backup must not close the account to the owner's new devices. */
  inRecovery: boolean;
}

/** Refuses a request for good. Errors: TwoFactorAuthNotFound, TwoFactorAuthNotPending. */
export function rejectTwoFactor(ports: TwoFactorPorts) {
  return async (command: RejectTwoFactor): Promise<void> => {
    const request = await findOpenTwoFactor(ports, command);
    const now = ports.clock.now();
    const context = { occurredAt: now, requestId: command.requestId };
    if (!(await ports.requests.take(request.id, rejecting(now, command.inRecovery), context))) throw notPending();
  };
}
