import { useEffect, useState } from "react";
import { CodePanel } from "./code/code-panel.tsx";
import type { PhoneId } from "./device.ts";
import { Guide } from "./guide.tsx";
import { Header } from "./header.tsx";
import { useTexts } from "./i18n/index.tsx";
import { PHONE_OF, usePageState } from "./page-state.tsx";
import { Phone } from "./phone/phone.tsx";
import { Choice } from "./ui/choice.tsx";

const PHONES: readonly PhoneId[] = ["one", "two"];

/** The whole page: its purpose, the guide and the code on one side, the two phones on the other. */
export function App() {
  const t = useTexts();
  const { asked } = usePageState();
  const [shown, setShown] = useState<PhoneId>("one");
  useEffect(() => {
    if (asked) setShown(PHONE_OF[asked.step]);
  }, [asked]);
  return (
    <>
      <a className="skip" href="#phones">
        {t.page.skip}
      </a>
      <Header />
      <main className="page" data-shown={shown}>
        <div className="intro">
          <h1>{t.page.title}</h1>
          <p>{t.page.lede}</p>
          <ul className="facts-line">
            {t.page.facts.map((fact) => (
              <li key={fact}>{fact}</li>
            ))}
          </ul>
        </div>
        <Guide />
        <div className="phones" id="phones" tabIndex={-1}>
          <div className="phone-switch">
            <Choice label={t.page.shown} options={t.page.phones} value={shown} onChange={setShown} />
          </div>
          {PHONES.map((id) => (
            <Phone key={id} id={id} />
          ))}
        </div>
        <CodePanel />
      </main>
    </>
  );
}
