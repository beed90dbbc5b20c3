import type { Device } from "../domain/devices/device.ts";

/** The languages that notices are written in; a file of `texts/` each. */
export const LANGUAGES = ["en", "de"] as const;
export type Language = (typeof LANGUAGES)[number];

const DEFAULT_LANGUAGE: Language = "en";

/** The language subtag of a tag as BCP 47 (`de-AT`) or POSIX (`de_AT`) writes it. */
const PRIMARY_SUBTAG = /^([a-z]{2,3})(?:[-_]|$)/i;

/** Returns the language that a device's `lang` names; English for every text that names none of ours. */
export function languageOf(lang: string): Language {
  const primary = PRIMARY_SUBTAG.exec(lang)?.[1]?.toLowerCase();
  return LANGUAGES.find((each) => each === primary) ?? DEFAULT_LANGUAGE;
}

/**
 * Returns the language of an account's mails: that of the oldest device that states one. A device that was
 * added later, perhaps by a thief, does not change it.
 */
export function accountLanguage(devices: readonly Pick<Device, "attributes" | "createdAt">[]): Language {
  const stating = devices.filter(({ attributes }) => attributes.lang !== "");
  const [oldest] = stating.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  return languageOf(oldest?.attributes.lang ?? "");
}
