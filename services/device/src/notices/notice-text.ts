import type { Language } from "./language.ts";
import type { NoticeKind, NoticeTexts } from "./ports.ts";
import { de } from "./texts/de.ts";
import { en } from "./texts/en.ts";

const TEXTS: Readonly<Record<Language, NoticeTexts>> = { en, de };

/**
 * Returns subject and plain text of a notice. No client wrote any of it: a device's name would allow anybody
 * to put a sentence into our mail.
 */
export function noticeText(kind: NoticeKind, occurredAt: Date, language: Language): { subject: string; text: string } {
  const { time, notYou, notices } = TEXTS[language];
  const { subject, what, advice = notYou } = notices[kind];
  const at = `${occurredAt.toISOString().slice(0, 16).replace("T", " ")} UTC`;
  return { subject, text: `${what}\n\n${time}: ${at}\n\n${advice}\n` };
}
