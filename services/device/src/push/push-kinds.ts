import type { TwoFactorStatus } from "../domain/two-factor/two-factor.ts";

type Kind = `two-factor.${Exclude<TwoFactorStatus, "pending"> | "requested"}` | `notice.${string}`;

/**
 * Every kind of push, with the events that cause it (`<service>.<event>`, as in their subjects). The list is
 * closed: apps carry a text for each kind. A new kind also belongs in docs/events.md; a test compares the
 * two.
 */
export const PUSH_KINDS = {
  "two-factor.requested": ["device.two-factor-changed"],
  "two-factor.approved": ["device.two-factor-changed"],
  "two-factor.rejected": ["device.two-factor-changed"],
  "two-factor.expired": ["device.two-factor-changed"],
  "two-factor.finished": ["device.two-factor-changed"],
  "two-factor.failed": ["device.two-factor-changed"],
  "notice.new-sign-in": ["auth.session-created"],
  "notice.new-device": ["device.device-registered"],
  "notice.frozen": ["auth.account-frozen"],
  "notice.unfrozen": ["auth.account-unfrozen"],
  "notice.unfreeze-asked": ["auth.time-lock-started"],
  "notice.unfreeze-cancelled": ["auth.time-lock-cancelled"],
  "notice.unknown-key": ["key.key-discovered"],
  "notice.changed-on-chain": ["account.chain-alert"],
  "notice.changed-and-frozen": ["account.chain-alert"],
  "notice.account-left": ["key.account-left"],
  "notice.recovery-sign-in": ["auth.session-created"],
  "notice.time-lock-started": ["signer.time-lock-started"],
  "notice.time-lock-cancelled": ["signer.time-lock-cancelled"],
} as const satisfies Readonly<Record<Kind, readonly string[]>>;

export type PushKind = keyof typeof PUSH_KINDS;

export const isPushKind = (kind: string): kind is PushKind => Object.hasOwn(PUSH_KINDS, kind);
