import { Check, ChevronRight } from "lucide-react";
import { useTexts } from "./i18n/index.tsx";
import { STEPS, usePageState } from "./page-state.tsx";

/** Five steps that show what Countersign does: each leads to its phone, and is ticked off there. */
export function Guide() {
  const t = useTexts();
  const { done, ask } = usePageState();
  const next = STEPS.find((step) => !done.includes(step));
  return (
    <section className="guide" aria-labelledby="guide-title">
      <header className="guide-head">
        <h2 id="guide-title">{t.guide.title}</h2>
        <span className="muted">{t.guide.progress(done.length, STEPS.length)}</span>
      </header>
      <ol>
        {STEPS.map((step, at) => {
          const [title, text] = t.guide.steps[step];
          const isDone = done.includes(step);
          return (
            <li key={step} data-state={isDone ? "done" : step === next ? "next" : "later"}>
              <button type="button" onClick={() => ask(step)}>
                <span className="guide-mark">
                  {isDone ? <Check size={14} strokeWidth={3} aria-label={t.guide.done} /> : at + 1}
                </span>
                <span className="guide-text">
                  {title}
                  <small>{text}</small>
                </span>
                <ChevronRight size={18} aria-hidden />
              </button>
            </li>
          );
        })}
      </ol>
      {!next && (
        <p className="note good" role="status">
          {t.guide.finished}
        </p>
      )}
    </section>
  );
}
