import type { NoticeKind } from "./ports.ts";

export interface NoticeText {
  subject: string;
  text: string;
}

const NOT_YOU = `If this was not you, open the app on a device of yours, freeze the account and remove whatever you do not know.`;

const SENTENCES: Readonly<Record<NoticeKind, { subject: string; what: string; advice: string }>> = {
  "new-sign-in": {
    subject: "New sign-in to your account",
    what: "One of your devices has signed in to your account.",
    advice: NOT_YOU,
  },
  "new-device": {
    subject: "A new device was added to your account",
    what: "A new device was let in. From now on it signs in to your account and signs for it.",
    advice: NOT_YOU,
  },
  frozen: {
    subject: "Your account is frozen",
    what: "Your account was frozen: nothing is signed for it until it is unfrozen.",
    advice:
      "Unfreeze it in the app, on another device than the one that froze it. If this was not you, look at your devices and sessions first.",
  },
  unfrozen: {
    subject: "Your account is not frozen any more",
    what: "Your account was unfrozen: it signs again.",
    advice: NOT_YOU,
  },
  "unknown-key": {
    subject: "A key that we do not know is on your account",
    what: "A key was added to your account on chain, and not through us. It does not sign in here, but it counts on chain.",
    advice: NOT_YOU,
  },
  "changed-on-chain": {
    subject: "Your account was changed on chain, and not through us",
    what: "A key, a contract or a right over your account was changed on chain by a transaction that is none of ours.",
    advice: NOT_YOU,
  },
  "changed-and-frozen": {
    subject: "Your account was changed on chain, and we sign nothing until it was looked at",
    what: "A key, a contract or a right over your account was changed on chain by a transaction that is none of ours. Your account is frozen until we have looked at it; it cannot be unfrozen in the app.",
    advice:
      "If it was you, tell our support. If not, somebody holds keys of yours: look at your devices, sessions and recovery key in the app.",
  },
  "account-left": {
    subject: "Your account has left the service",
    what: "The service's key was taken off your account on chain. We sign nothing for it any more, and your sessions have ended.",
    advice:
      "If this was not you, whoever did it holds your recovery key and a device of yours: move what is of value to you to another account at once.",
  },
  "recovery-sign-in": {
    subject: "Somebody signed in with your recovery key",
    what: "Your recovery key has signed in to your account. It may ask for a new device, which is let in after a delay only.",
    advice: NOT_YOU,
  },
  "delay-started": {
    subject: "A change to the keys of your account was asked for",
    what: "Somebody asked to change how your account is recovered, or to let a new device in with its recovery key. It happens after a delay only, and any device that you had before can cancel it until then.",
    advice:
      "If this was not you, open the app on a device of yours and cancel it; then freeze the account and remove whatever you do not know.",
  },
  "delay-cancelled": {
    subject: "A change to the keys of your account was cancelled",
    what: "A change to the keys of your account that was waiting for its delay was cancelled on one of your devices.",
    advice: NOT_YOU,
  },
};

/**
 * Subject and plain text of a notice. Nothing in it was written by a client: a device's name in a mail of ours would be a stranger's
 * sentence under our letterhead.
 */
export function noticeText(kind: NoticeKind, occurredAt: Date): NoticeText {
  const { subject, what, advice } = SENTENCES[kind];
  const at = `${occurredAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return { subject, text: `${what}\n\nTime: ${at}\n\n${advice}\n` };
}
