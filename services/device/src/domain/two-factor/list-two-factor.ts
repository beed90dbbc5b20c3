import type { Session } from "../devices/device.ts";
import { expireIfDue } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { renewMessage } from "./renew-message.ts";
import type { TwoFactor, TwoFactorStatus } from "./two-factor.ts";
import { type TwoFactorView, viewTwoFactors } from "./two-factor-view.ts";

/** The most requests that one answer names. */
export const LISTED = 100;

/** The requests of the session's account, newest first, of one status or all; pending ones with a message that can be signed now. */
export function listTwoFactor(ports: TwoFactorPorts) {
  const present = async (request: TwoFactor, requestId: string) =>
    renewMessage(ports, await expireIfDue(ports, request, requestId), requestId);

  return async (query: {
    session: Session;
    status?: TwoFactorStatus | undefined;
    requestId: string;
  }): Promise<TwoFactorView[]> => {
    const { status, requestId } = query;
    const { accountId } = query.session;
    const found = await ports.requests.list(accountId, { status, limit: LISTED });
    const current = await Promise.all(found.map((request) => present(request, requestId)));
    // Some may have changed by being looked at.
    const asked = current.filter((request) => status === undefined || request.status === status);
    return viewTwoFactors(ports, accountId, asked, query.session.sessionKey);
  };
}
