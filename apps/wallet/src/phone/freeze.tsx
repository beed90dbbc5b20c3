import { ProblemError } from "@countersign/client";
import { useAction, useClient, useSession } from "@countersign/react";
import { Snowflake } from "lucide-react";
import { freeze, unfreeze } from "../acts/freeze.ts";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { Failed, TimeLeft } from "../ui/states.tsx";

/** Returns when a time lock ends, if that is what the error says. */
export const availableAtOf = (error: unknown): string | undefined =>
  error instanceof ProblemError && error.error === "TimeLockRequired" ? error.availableAt : undefined;

/** Stops all signing, and lets it go on after the time lock. */
export function Freeze() {
  const t = useTexts();
  const client = useClient();
  const { state } = useSession();
  const { showCode, markDone } = usePageState();
  const stop = useAction(async () => {
    showCode("freeze");
    await freeze(client);
    markDone("freeze");
  });
  const go = useAction(async () => {
    showCode("freeze");
    await unfreeze(client);
  });
  const availableAt = availableAtOf(go.error);
  const error = stop.error ?? (availableAt ? undefined : go.error);
  const isFrozen = state === "frozen";
  return (
    <section className="card freeze" data-frozen={isFrozen}>
      <div className="card-head">
        <Snowflake size={20} aria-hidden />
        <div>
          <h3>{isFrozen ? t.security.frozen : t.security.freezeTitle}</h3>
          <p className="muted">{isFrozen ? t.security.frozenHint : t.security.freezeHint}</p>
        </div>
      </div>
      {isFrozen && availableAt && (
        <p className="note locked" role="status">
          <TimeLeft at={availableAt} />
        </p>
      )}
      {error !== undefined && <Failed error={error} />}
      {isFrozen ? (
        <ActionButton action={go}>{t.security.unfreeze}</ActionButton>
      ) : (
        <ActionButton kind="danger" action={stop}>
          {t.security.freeze}
        </ActionButton>
      )}
    </section>
  );
}
