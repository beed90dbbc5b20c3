import { Check } from "lucide-react";
import type { PhoneId } from "./device.ts";
import { useTexts } from "./i18n/index.tsx";
import { STEPS, type Step, usePageState } from "./page-state.tsx";

const PHONE_OF: Record<Step, PhoneId> = { open: "one", send: "one", enroll: "two", attack: "one", freeze: "one" };

/** Five steps that show what Countersign does; each is ticked off once it was done on a phone. */
export function Guide({ onPhone }: { onPhone: (id: PhoneId) => void }) {
  const t = useTexts();
  const { done } = usePageState();
  const next = STEPS.find((step) => !done.includes(step));
  return (
    <section className="guide" aria-labelledby="guide-title">
      <h2 id="guide-title">{t.guide.title}</h2>
      <ol>
        {STEPS.map((step) => {
          const [title, text] = t.guide.steps[step];
          const isDone = done.includes(step);
          return (
            <li key={step} data-state={isDone ? "done" : step === next ? "next" : "later"}>
              <span className="guide-mark">
                {isDone ? <Check size={14} strokeWidth={3} aria-label={t.guide.done} /> : STEPS.indexOf(step) + 1}
              </span>
              <span>
                <button type="button" onClick={() => onPhone(PHONE_OF[step])}>
                  {title}
                </button>
                <small>{text}</small>
              </span>
            </li>
          );
        })}
      </ol>
    </section>
  );
}
