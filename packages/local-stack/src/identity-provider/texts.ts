/** English texts of the pages that an app chooses the language of. */
const en = {
  logIn: "Log in",
  continueTo: (app: string) => `to continue to ${app}`,
  email: "E-mail address",
  emailHint: "Any address works. Nothing is sent to it.",
  noEmail: "That is not an e-mail address.",
  continue: "Continue",
  cancel: "Cancel",
  allowAccess: "Allow access?",
  willRead: (app: string) => `${app} will read your name, e-mail address and picture.`,
  allow: "Allow",
  development: "Development only.",
  developmentText: "There is no password: anybody who can open this page can log in as any person.",
};

export type PageTexts = typeof en;

const de: PageTexts = {
  logIn: "Anmelden",
  continueTo: (app) => `und weiter zu ${app}`,
  email: "E-Mail-Adresse",
  emailHint: "Jede Adresse geht. Nichts wird an sie geschickt.",
  noEmail: "Das ist keine E-Mail-Adresse.",
  continue: "Weiter",
  cancel: "Abbrechen",
  allowAccess: "Zugriff erlauben?",
  willRead: (app) => `${app} erfährt Ihren Namen, Ihre E-Mail-Adresse und Ihr Bild.`,
  allow: "Erlauben",
  development: "Nur für die Entwicklung.",
  developmentText: "Es gibt kein Passwort: Wer diese Seite öffnet, kann sich als jede Person anmelden.",
};

const LANGUAGES: Readonly<Record<string, PageTexts>> = { en, de };

/** Language and theme that the app asked for; the system's theme where it asked for none. */
export interface Look {
  language: string;
  theme: "light" | "dark" | undefined;
}

export const DEFAULT_LOOK: Look = { language: "en", theme: undefined };

/** Returns the look that an authorization request asks for by `ui_locales` and `theme`. */
export function lookOf({ ui_locales, theme }: Record<string, unknown>): Look {
  const asked = String(ui_locales ?? "").split(" ");
  const language = asked.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => Object.hasOwn(LANGUAGES, tag));
  return { language: language ?? "en", theme: theme === "light" || theme === "dark" ? theme : undefined };
}

export const textsOf = ({ language }: Look): PageTexts => LANGUAGES[language] ?? en;
