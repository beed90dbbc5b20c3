import type { TwoFactorStatus } from "../domain/two-factor/two-factor.ts";

/** All changes of status. rejected, expired, finished and failed are final. */
export const TRANSITIONS: Readonly<Record<TwoFactorStatus, readonly TwoFactorStatus[]>> = {
  pending: ["approved", "rejected", "expired"],
  approved: ["finished", "failed"],
  rejected: [],
  expired: [],
  finished: [],
  failed: [],
};
