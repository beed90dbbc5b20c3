import type { CountersignClient } from "@countersign/client";
import { CountersignProvider, useAction } from "@countersign/react";
import { useState } from "react";
import { openWithRecoveryKey, recoverPhone } from "../acts/recover-account.ts";
import { config } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { logIn } from "../login.ts";
import { ActionButton } from "../ui/action-button.tsx";
import { Screen } from "../ui/screen.tsx";
import { Empty, Failed, TimeLeft } from "../ui/states.tsx";
import { cloudOf, ownersInCloud } from "./cloud.ts";
import { availableAtOf } from "./freeze.tsx";
import { usePhone } from "./phone-context.tsx";
import { useCode } from "./welcome.tsx";

/** The way back for a person who has lost all phones: two logins, a time lock, and one more login. */
export function Recover() {
  const t = useTexts();
  const { device, createKey, back } = usePhone();
  useCode("recover-account");
  const owners = ownersInCloud();
  const [owner, setOwner] = useState(owners[0] ?? "");
  const [recovery, setRecovery] = useState<CountersignClient>();
  const first = useAction(async () => {
    const opened = await openWithRecoveryKey(
      config.gateway,
      cloudOf(owner),
      async (nonce) => (await logIn(nonce, owner)).login,
    );
    setRecovery(opened);
  });
  const second = useAction(async () => {
    const client = await createKey(device.kind ?? "device");
    const { login } = await logIn(client.loginNonce, owner);
    device.keep("email", owner);
    await recoverPhone(recovery!, client, login);
    back();
  });
  const availableAt = availableAtOf(second.error);
  const error = first.error ?? (availableAt ? undefined : second.error);
  return (
    <Screen title={t.recover.title}>
      <p className="muted">{t.recover.lede}</p>
      {owners.length === 0 && <Empty title={t.recover.none} hint={t.recover.noneHint} />}
      <fieldset className="chips" aria-label={t.recover.choose}>
        {owners.map((each) => (
          <button
            key={each}
            type="button"
            className="chip"
            aria-pressed={each === owner}
            onClick={() => setOwner(each)}
          >
            {each}
          </button>
        ))}
      </fieldset>
      {availableAt && recovery && (
        <div className="note locked" role="status">
          <div>
            <p>{t.recover.locked}</p>
            <CountersignProvider client={recovery}>
              <TimeLeft at={availableAt} />
            </CountersignProvider>
          </div>
        </div>
      )}
      {error !== undefined && <Failed error={error} />}
      {owners.length > 0 && (
        <div className="bottom">
          {recovery ? (
            <ActionButton action={second}>{availableAt ? t.recover.finish : t.recover.second}</ActionButton>
          ) : (
            <ActionButton action={first}>{t.recover.first}</ActionButton>
          )}
        </div>
      )}
    </Screen>
  );
}
