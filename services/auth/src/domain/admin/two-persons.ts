import type { Reason } from "@countersign/core";

/** A command that an administrator asked for, and that another person must approve. */
export interface AdminRequest {
  readonly id: string;
  readonly requestedAt: Date;
  /** The person who asked. */
  readonly person: string;
  readonly command: string;
  readonly accountId: string;
  readonly arguments: Readonly<Record<string, string | number | boolean>>;
}

/** How long a request may be approved. */
export const REQUEST_GOOD_FOR_MS = 24 * 3_600_000;

/** Returns whether a request can still be decided. */
export const isOpen = ({ requestedAt }: AdminRequest, now: Date): boolean =>
  now.getTime() - requestedAt.getTime() < REQUEST_GOOD_FOR_MS;

/**
 * Returns why a person may not decide a request; undefined where the person may. Each person may reject: that
 * gives nobody access. An approval names the account: nobody approves a request unread, or another one by
 * mistake. Whether it was decided before, the database decides.
 */
export function judgeDecision(
  request: AdminRequest | undefined,
  decision: {
    readonly person: string;
    readonly approve: boolean;
    readonly accountId?: string | undefined;
    readonly now: Date;
  },
): Reason | undefined {
  if (!request || !isOpen(request, decision.now)) return "AdminRequestNotFound";
  if (!decision.approve) return undefined;
  if (request.accountId !== decision.accountId) return "AdminRequestNotFound";
  return request.person === decision.person ? "SecondPersonRequired" : undefined;
}
