import type { AccountEvent } from "@countersign/client";
import { useIsLive } from "@countersign/react";
import { useLanguage, useTexts } from "../i18n/index.tsx";
import { Empty } from "../ui/states.tsx";
import { History, useHistory } from "./history.tsx";

/** An event and when this phone saw it. */
export interface SeenEvent {
  event: AccountEvent;
  at: Date;
}

/** Returns a function that says in one sentence what an event is. */
export function useEventText(): (event: AccountEvent) => string {
  const t = useTexts();
  return ({ type, data }) => {
    const change = "change" in data ? t.activity.changes[String(data.change)] : undefined;
    return change ?? t.activity.events[type] ?? type;
  };
}

/** The live events of the account, and the transactions of this phone. */
export function Activity({ events }: { events: readonly SeenEvent[] }) {
  const t = useTexts();
  const { language } = useLanguage();
  const textOf = useEventText();
  const history = useHistory();
  const isLive = useIsLive();
  return (
    <>
      <h2 className="screen-title">{t.activity.title}</h2>
      <h3>
        {t.activity.live}
        <span className="live-dot" data-live={isLive} role="status">
          {isLive ? t.activity.connected : t.activity.connecting}
        </span>
      </h3>
      {events.length === 0 ? (
        <Empty title={t.activity.empty} hint={t.activity.emptyHint} />
      ) : (
        <ol className="timeline">
          {events.map(({ event, at }) => (
            <li key={event.id + event.type}>
              <span>{textOf(event)}</span>
              <small>
                <span className="mono">{event.type}</span>
                <time dateTime={at.toISOString()}>{at.toLocaleTimeString(language)}</time>
              </small>
            </li>
          ))}
        </ol>
      )}
      <h3>{t.activity.transactions}</h3>
      {history.length === 0 ? <Empty title={t.wallet.empty} /> : <History entries={history} />}
    </>
  );
}
