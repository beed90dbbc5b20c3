import { MatchingCode, TimeUntil, useOpenAccount, useSession } from "@countersign/react";
import { useEffect } from "react";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { logIn } from "../login.ts";
import { usePageState } from "../page-state.tsx";
import { Button } from "../ui/button.tsx";
import { Failed } from "../ui/states.tsx";
import { rememberLogin } from "./last-login.ts";
import { usePhone } from "./phone-context.tsx";
import { TwoKeys, TwoPhones } from "./two-keys.tsx";

/** A phone with a key and without a session: signs up or in, or waits for its enrollment. */
export function OpenAccount({ begins, onBegun }: { begins: boolean; onBegun: () => void }) {
  const t = useTexts();
  const { id, device, open: show, wipe } = usePhone();
  const { showCode, markDone } = usePageState();
  const { endedBy } = useSession();
  const { state, open, cancel } = useOpenAccount({
    chainName: network.chainName,
    device: { name: t.page.phones[id], type: "browser", osName: "web" },
    async logIn({ nonce }) {
      const { login, email } = await logIn(nonce, device.note("email"));
      device.keep("email", email);
      rememberLogin(device, login);
      showCode("open-account");
      return login;
    },
  });
  useEffect(() => {
    if (!begins) return;
    // Once: the end of this session must not open a window by itself.
    onBegun();
    void open();
  });
  const { step } = state;
  useEffect(() => {
    if (step !== "enrolling") return;
    showCode("enroll-phone");
    return () => markDone("enroll");
  }, [step, showCode, markDone]);

  if (state.step === "enrolling") {
    return (
      <div className="screen welcome">
        <TwoPhones />
        <div className="lead">
          <h2>{t.enroll.title}</h2>
          <p>{t.enroll.lede}</p>
        </div>
        <MatchingCode className="matching-code" code={state.matchingCode} />
        <p className="waiting" role="status">
          <span className="spinner" aria-hidden />
          {t.enroll.waiting}
        </p>
        <div className="bottom">
          <small className="centered">
            <TimeUntil at={state.expiresAt}>{(left) => t.enroll.expires(left)}</TimeUntil>
          </small>
          <Button kind="plain" onPress={cancel}>
            {t.welcome.cancel}
          </Button>
        </div>
      </div>
    );
  }
  if (step === "logging-in" || step === "opening") return <Opening step={step} onCancel={cancel} />;
  return (
    <div className="screen welcome">
      <TwoKeys />
      <div className="lead">
        <h2>{device.note("email") ? t.welcome.back : t.welcome.phones[id].title}</h2>
        <p>{endedBy ? t.welcome.ended(endedBy.title) : t.welcome.keyKept}</p>
      </div>
      {state.step === "failed" && <Failed error={state.error} />}
      <div className="bottom">
        <Button onPress={() => void open()}>{device.note("email") ? t.welcome.again : t.welcome.continue}</Button>
        <Button kind="quiet" onPress={() => show({ name: "recover" })}>
          {t.welcome.recover}
        </Button>
        <Button kind="quiet" onPress={wipe}>
          {t.security.newPhone}
        </Button>
      </div>
    </div>
  );
}

function Opening({ step, onCancel }: { step: "logging-in" | "opening"; onCancel: () => void }) {
  const t = useTexts();
  return (
    <div className="screen welcome" data-step={step}>
      <TwoKeys />
      <p className="waiting" role="status">
        <span className="spinner" aria-hidden />
        {step === "opening" ? t.welcome.opening : t.welcome.loggingIn}
      </p>
      <ol className="opening-steps" data-step={step}>
        {t.welcome.openingSteps.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ol>
      <div className="bottom">
        <Button kind="plain" onPress={onCancel}>
          {t.welcome.cancel}
        </Button>
      </div>
    </div>
  );
}
