import { TimeUntil } from "@countersign/react";
import { CircleAlert, Inbox } from "lucide-react";
import { useTexts } from "../i18n/index.tsx";
import { useErrorText } from "./error-text.ts";

/** A list that has nothing yet. */
export const Empty = ({ title, hint }: { title: string; hint?: string }) => (
  <div className="empty">
    <Inbox size={22} aria-hidden />
    <p>{title}</p>
    {hint && <small>{hint}</small>}
  </div>
);

/** The place of data that is on its way. */
export function Loading({ rows = 2 }: { rows?: number }) {
  const t = useTexts();
  return (
    <div className="loading" role="status" aria-label={t.common.loading}>
      {Array.from({ length: rows }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same
        <span key={at} className="skeleton" />
      ))}
    </div>
  );
}

/** How long a time lock still lasts. */
export function TimeLeft({ at }: { at: string }) {
  const { security } = useTexts();
  return <TimeUntil at={at}>{(left) => (left > 0 ? security.availableIn(left) : security.availableNow)}</TimeUntil>;
}

/** A failure with its reason, and the way to try again where there is one. */
export function Failed({ error, retry }: { error: unknown; retry?: () => unknown }) {
  const t = useTexts();
  const text = useErrorText();
  return (
    <div className="note failed" role="alert">
      <CircleAlert size={18} aria-hidden />
      <div>
        <p>{text(error)}</p>
        {retry && (
          <button type="button" className="link" onClick={() => void retry()}>
            {t.common.retry}
          </button>
        )}
      </div>
    </div>
  );
}
