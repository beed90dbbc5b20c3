import { useEffect, useState } from "react";
import { LANGUAGES, type Language, useLanguage, useTexts } from "./i18n/index.tsx";
import { Choice } from "./ui/choice.tsx";

type Theme = "system" | "light" | "dark";
const STORED = "wallet/theme";
const NAMES = Object.fromEntries(Object.entries(LANGUAGES).map(([code]) => [code, code.toUpperCase()])) as Record<
  Language,
  string
>;

/** The name of the page, and its two settings. */
export function Header() {
  const t = useTexts();
  const { language, choose } = useLanguage();
  const [theme, setTheme] = useState<Theme>(() => (localStorage.getItem(STORED) as Theme | null) ?? "system");
  useEffect(() => {
    localStorage.setItem(STORED, theme);
    if (theme === "system") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  return (
    <header className="header">
      <span className="brand">
        <img src="/mark.svg" alt="" width="28" height="28" />
        <span className="brand-name">Countersign</span>
      </span>
      <div className="settings">
        <Choice label={t.page.languages} options={NAMES} value={language} onChange={choose} isSmall />
        <Choice label={t.page.theme} options={t.page.themes} value={theme} onChange={setTheme} isSmall />
      </div>
    </header>
  );
}
