import { useAction, useClient } from "@countersign/react";
import { useState } from "react";
import { Switch } from "react-aria-components";
import { registerPush } from "../acts/register-push.ts";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { Failed } from "../ui/states.tsx";
import { usePhone } from "./phone-context.tsx";

/** Whether the service may push to this phone. */
export function Push() {
  const t = useTexts();
  const client = useClient();
  const { device } = usePhone();
  const { showCode } = usePageState();
  const [isOn, setOn] = useState(device.note("push") === "on");
  const { run, isPending, error } = useAction(async (wanted: boolean) => {
    showCode("register-push");
    await registerPush(client, wanted ? `wallet-page-${crypto.randomUUID()}` : "");
    device.keep("push", wanted ? "on" : "off");
    setOn(wanted);
  });
  return (
    <section className="card">
      <Switch className="switch" isSelected={isOn} isDisabled={isPending} onChange={(wanted) => void run(wanted)}>
        <span className="switch-text">{t.security.push}</span>
        <span className="switch-track" />
      </Switch>
      <p className="muted">{t.security.pushHint}</p>
      {error !== undefined && <Failed error={error} />}
    </section>
  );
}
