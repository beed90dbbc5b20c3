import { describe, expect, it } from "vitest";
import { accountLanguage, LANGUAGES, languageOf } from "./language.ts";
import { noticeText } from "./notice-text.ts";

describe("languageOf", () => {
  it.each(["de", "DE", "de-AT", "de_DE", "de_DE.UTF-8", "de-Latn-CH-1996"])("%j is German", (lang) => {
    expect(languageOf(lang)).toBe("de");
  });

  it.each([
    "en",
    "en-GB",
    "",
    "fr",
    "deutsch",
    "dex",
    " de",
    "de\n",
    "de/../en",
    "__proto__",
    "constructor",
    "toString",
    "xx-de",
  ])("%j is English", (lang) => expect(languageOf(lang)).toBe("en"));

  it("reads a long hostile text in no time", () => {
    expect(languageOf("d".repeat(1_000_000))).toBe("en");
    expect(languageOf(`de-${"\u0000".repeat(1_000_000)}`)).toBe("de");
  });
});

describe("accountLanguage", () => {
  const device = (lang: string, day: number) => ({
    attributes: { lang } as never,
    createdAt: new Date(Date.UTC(2026, 10, day)),
  });

  it("is that of the oldest device that states one: a newer device does not change it", () => {
    expect(accountLanguage([device("en", 3), device("de-AT", 2), device("", 1)])).toBe("de");
    expect(accountLanguage([device("de", 3), device("fr", 2)])).toBe("en");
  });

  it("is English where no device states one, and where there is no device", () => {
    expect(accountLanguage([device("", 1)])).toBe("en");
    expect(accountLanguage([])).toBe("en");
  });
});

it("no two languages share a sentence", () => {
  const texts = LANGUAGES.map((language) => noticeText("frozen", new Date(0), language));
  expect(new Set(texts.map(({ subject }) => subject)).size).toBe(LANGUAGES.length);
  expect(new Set(texts.map(({ text }) => text)).size).toBe(LANGUAGES.length);
});
