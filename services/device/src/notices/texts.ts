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
