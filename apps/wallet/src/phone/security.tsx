import { useAction, useClient } from "@countersign/react";
import { useTexts } from "../i18n/index.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { Button } from "../ui/button.tsx";
import { Failed } from "../ui/states.tsx";
import { Devices } from "./devices.tsx";
import { Freeze } from "./freeze.tsx";
import { Keys } from "./keys.tsx";
import { Parent } from "./parent.tsx";
import { usePhone } from "./phone-context.tsx";
import { Push } from "./push.tsx";
import { Recovery } from "./recovery.tsx";
import { TimeLocks } from "./time-locks.tsx";

/** Everything that protects the account. */
export function Security({ address }: { address: string | undefined }) {
  const t = useTexts();
  return (
    <>
      <h2 className="screen-title">{t.security.title}</h2>
      <Freeze />
      <Devices />
      <Keys address={address} />
      <Recovery />
      <TimeLocks />
      <Parent address={address} />
      <Push />
      <Leaving />
    </>
  );
}

/** Signing out keeps the key; starting over makes this a new phone. */
function Leaving() {
  const t = useTexts();
  const client = useClient();
  const { wipe } = usePhone();
  const out = useAction(() => client.signOut());
  return (
    <section className="card">
      {out.error !== undefined && <Failed error={out.error} />}
      <ActionButton kind="plain" action={out}>
        {t.security.signOut}
      </ActionButton>
      <Button kind="quiet" onPress={wipe}>
        {t.security.newPhone}
      </Button>
      <small className="muted centered">{t.security.newPhoneHint}</small>
    </section>
  );
}
