import type { Session } from "../devices/device.ts";
import { expireIfDue } from "./find-two-factor.ts";
import type { TwoFactorPorts } from "./ports.ts";
import { renewMessage } from "./renew-message.ts";
import type { TwoFactor, TwoFactorStatus } from "./two-factor.ts";
import { type TwoFactorView, viewIn } from "./two-factor-view.ts";

const MAX_LISTED_REQUESTS = 100;

/**
 * Returns the requests of the session's account, newest first, with one status or all; pending ones have a
 * message that can be signed now.
 */
export function listTwoFactor(ports: TwoFactorPorts) {
  const refresh = async (request: TwoFactor, requestId: string) =>
    renewMessage(ports, await expireIfDue(ports, request, requestId), requestId);

  return async (query: {
    session: Session;
    status?: TwoFactorStatus | undefined;
    requestId: string;
  }): Promise<TwoFactorView[]> => {
    const { status, requestId } = query;
    const { accountId } = query.session;
    const found = await ports.requests.list(accountId, { status, limit: MAX_LISTED_REQUESTS });
    const current = await Promise.all(found.map((request) => refresh(request, requestId)));
    // Refreshing may have changed the status of some.
    const matching = current.filter((request) => status === undefined || request.status === status);
    const live = await ports.devices.listLive(accountId);
    return matching.map((request) => viewIn(live, request, query.session.deviceKey));
  };
}
