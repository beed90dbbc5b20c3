import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { I18nProvider } from "react-aria-components";
import { de } from "./de/index.ts";
import { en, type Texts } from "./en/index.ts";

/** Every language of the page: a further one is a file and an entry here. */
export const LANGUAGES = { en, de } as const satisfies Record<string, Texts>;
export type Language = keyof typeof LANGUAGES;

const STORED = "wallet/language";
const isLanguage = (name: string | null | undefined): name is Language => name === "en" || name === "de";

function firstLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((each) => each.slice(0, 2)).find(isLanguage) ?? "en";
}

const Context = createContext<{ language: Language; choose: (language: Language) => void } | undefined>(undefined);

/** Gives the texts of the chosen language to the page, and its rules to React Aria. */
export function Languages({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(firstLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const choose = (next: Language) => {
    localStorage.setItem(STORED, next);
    setLanguage(next);
  };
  return (
    <Context.Provider value={{ language, choose }}>
      <I18nProvider locale={language}>{children}</I18nProvider>
    </Context.Provider>
  );
}

export function useLanguage() {
  const value = useContext(Context);
  if (!value) throw new Error("useLanguage needs Languages above it");
  return value;
}

export const useTexts = (): Texts => LANGUAGES[useLanguage().language];
