import type { TimeLock } from "@countersign/client";
import { useAction, useClient, useTimeLocks } from "@countersign/react";
import { cancelTimeLock } from "../acts/cancel-time-lock.ts";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { Failed, Loading, TimeLeft } from "../ui/states.tsx";

/** The changes that wait, each with the veto of an older phone. */
export function TimeLocks() {
  const t = useTexts();
  const { data, error, reload } = useTimeLocks();
  return (
    <section className="card">
      <h3>{t.security.timeLocks}</h3>
      {error !== undefined && <Failed error={error} retry={reload} />}
      {!data && error === undefined && <Loading rows={1} />}
      {data?.length === 0 && <p className="muted">{t.security.noTimeLocks}</p>}
      <ul className="rows">
        {data?.map((lock) => (
          <Lock key={lock.id} lock={lock} onCancelled={reload} />
        ))}
      </ul>
    </section>
  );
}

function Lock({ lock, onCancelled }: { lock: TimeLock; onCancelled: () => Promise<void> }) {
  const t = useTexts();
  const client = useClient();
  const { showCode } = usePageState();
  const cancel = useAction(async () => {
    showCode("cancel-time-lock");
    await cancelTimeLock(client, lock.id);
    await onCancelled();
  });
  return (
    <li>
      <div className="row">
        <span className="row-text">
          {t.security.operations[lock.operation] ?? lock.operation}
          <small>{lock.cancelledAt !== "" ? t.security.cancelled : <TimeLeft at={lock.availableAt} />}</small>
        </span>
        {lock.cancelledAt === "" && (
          <ActionButton kind="quiet" action={cancel}>
            {t.security.cancel}
          </ActionButton>
        )}
      </div>
      {cancel.error !== undefined && <Failed error={cancel.error} />}
    </li>
  );
}
