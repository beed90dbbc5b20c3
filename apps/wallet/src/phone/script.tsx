import { useTransaction } from "@countersign/react";
import { useState } from "react";
import { runScript } from "../acts/run-script.ts";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Screen } from "../ui/screen.tsx";
import { remember } from "./history.tsx";
import { usePhone } from "./phone-context.tsx";
import { TransactionSheets } from "./transaction-sheets.tsx";

const GREETING = `transaction {
  prepare(account: auth(LoadValue, SaveValue) &Account) {
    account.storage.load<String>(from: /storage/greeting)
    account.storage.save("hello", to: /storage/greeting)
  }
}`;

/** A custom Cadence script: written, explained, signed and run. */
export function Script() {
  const t = useTexts();
  const { device, back } = usePhone();
  const [cadence, setCadence] = useState(GREETING);
  const transaction = useTransaction(runScript);
  const review = async () => {
    const sent = await transaction.send({ network, cadence });
    if (sent) remember(device, { id: sent.id, kind: "script" });
  };
  return (
    <Screen title={t.script.title}>
      <p className="muted">{t.script.lede}</p>
      <Field label={t.script.label} value={cadence} onChange={setCadence} rows={11} isCode />
      <div className="bottom">
        <Button onPress={() => void review()} isPending={transaction.isPending}>
          {t.script.review}
        </Button>
      </div>
      <TransactionSheets transaction={transaction} done={t.script.sent} onDone={back} />
    </Screen>
  );
}
