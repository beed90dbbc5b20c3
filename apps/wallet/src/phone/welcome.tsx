import { useAction } from "@countersign/react";
import { Fingerprint, KeyRound, Smartphone } from "lucide-react";
import { useEffect, useState } from "react";
import { Label, Radio, RadioGroup } from "react-aria-components";
import type { KeyKind } from "../device.ts";
import { useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { Button } from "../ui/button.tsx";
import { Failed } from "../ui/states.tsx";
import { usePhone } from "./phone-context.tsx";
import { TwoKeys, TwoPhones } from "./two-keys.tsx";

const KINDS: readonly KeyKind[] = ["device", "passkey"];

/** A phone without a key: the person chooses its kind, and continues with a login. */
export function Welcome({ onContinue }: { onContinue: (kind: KeyKind) => Promise<void> }) {
  const t = useTexts();
  const { id, open } = usePhone();
  const { showCode, addresses } = usePageState();
  const isFirst = id === "one" || addresses.one !== undefined;
  const { title, lede } = t.welcome.phones[id];
  const [kind, setKind] = useState<KeyKind>("device");
  const { run, isPending, error } = useAction(() => onContinue(kind));
  return (
    <div className="screen welcome">
      {id === "one" ? <TwoKeys /> : <TwoPhones />}
      <div className="lead">
        <h2>{title}</h2>
        <p>{lede}</p>
      </div>
      <RadioGroup className="key-kinds" value={kind} onChange={(to) => setKind(to as KeyKind)}>
        <Label className="overline">{t.welcome.key}</Label>
        {KINDS.map((each) => (
          <Radio key={each} value={each} className="key-kind">
            {each === "device" ? <Smartphone size={20} aria-hidden /> : <Fingerprint size={20} aria-hidden />}
            <span>
              {t.welcome.kinds[each]}
              <small>{t.welcome.kindHints[each]}</small>
            </span>
          </Radio>
        ))}
      </RadioGroup>
      {error !== undefined && <Failed error={error} />}
      <div className="bottom">
        <Button
          // One clear beginning: the second phone waits for the first one's account.
          kind={isFirst ? "primary" : "plain"}
          onPress={() => {
            showCode("create-key");
            void run();
          }}
          isPending={isPending}
        >
          {t.welcome.continue}
        </Button>
        <Button kind="quiet" onPress={() => open({ name: "recover" })}>
          <KeyRound size={16} aria-hidden />
          {t.welcome.recover}
        </Button>
      </div>
    </div>
  );
}

/** Shows the code of an act while its screen is shown. */
export function useCode(file: string): void {
  const { showCode } = usePageState();
  useEffect(() => showCode(file), [showCode, file]);
}
