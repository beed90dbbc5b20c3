import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { Code } from "./code.tsx";

/** The very files that the page runs. */
const files = import.meta.glob<string>(["../acts/*.ts", "../attacks/*.ts"], {
  query: "?raw",
  import: "default",
  eager: true,
});
const SOURCES = new Map(
  Object.entries(files).map(([path, text]) => [path.replace(/^.*\//, "").replace(".ts", ""), text.trim()]),
);

/** The source of the act that a person has begun last. */
export function CodePanel() {
  const t = useTexts();
  const { code } = usePageState();
  const [isCopied, setCopied] = useState(false);
  const source = SOURCES.get(code) ?? "";
  const title = t.code.files[code] ?? t.attack.list[code]?.[0] ?? code;
  const copy = async () => {
    await navigator.clipboard.writeText(source);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <section className="code-panel" aria-labelledby="code-title">
      <header>
        <div>
          <p className="overline">{t.code.title}</p>
          <h2 id="code-title" aria-live="polite">
            {title}
          </h2>
        </div>
        <button type="button" className="quiet" onClick={copy}>
          {isCopied ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
          {isCopied ? t.code.copied : t.code.copy}
        </button>
      </header>
      <Code key={code} text={source} label={`${t.code.title}: ${title}`} />
    </section>
  );
}
