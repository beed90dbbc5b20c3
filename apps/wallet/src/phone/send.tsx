import { useTransaction } from "@countersign/react";
import { useState } from "react";
import { sendTokens } from "../acts/send-tokens.ts";
import { network } from "../config.ts";
import { useLanguage, useTexts } from "../i18n/index.tsx";
import { usePageState } from "../page-state.tsx";
import { ActionButton } from "../ui/action-button.tsx";
import { Button } from "../ui/button.tsx";
import { Field } from "../ui/field.tsx";
import { Screen } from "../ui/screen.tsx";
import { Failed } from "../ui/states.tsx";
import { formatAmount, useBalance } from "./balance.ts";
import { remember } from "./history.tsx";
import { usePhone } from "./phone-context.tsx";
import { useFaucet } from "./receive.tsx";
import { TransactionSheets } from "./transaction-sheets.tsx";

const ADDRESS = /^0x[0-9a-f]{16}$/;
const AMOUNT = /^\d{1,9}(\.\d{1,8})?$/;
const isAmount = (text: string): boolean => AMOUNT.test(text) && Number(text) > 0;

/** Returns an amount as UFix64 wants it: with eight digits after the point. */
const toUFix64 = (text: string): string => {
  const [whole = "0", part = ""] = text.split(".");
  return `${whole}.${part.padEnd(8, "0")}`;
};

/** Sends test tokens: recipient and amount, then the dialog and the signatures. */
export function Send({ address }: { address: string | undefined }) {
  const t = useTexts();
  const { language } = useLanguage();
  const { id, device, back } = usePhone();
  const { addresses, markDone } = usePageState();
  const own = addresses[id];
  const others: readonly (readonly [string, string | undefined])[] = [
    [t.send.otherPhone, addresses[id === "one" ? "two" : "one"]],
    [t.send.service, `0x${network.paymaster.replace("0x", "")}`],
  ];
  const choices = others.filter(([, address]) => address !== undefined && address !== own);
  const [to, setTo] = useState(choices[0]?.[1] ?? "");
  const [amount, setAmount] = useState("1.5");
  const [isChecked, setChecked] = useState(false);
  const { balance } = useBalance(address);
  const faucet = useFaucet(address);
  // Keyboards of many languages have a comma only.
  const value = amount.replace(",", ".");
  const isTooMuch = balance !== undefined && isAmount(value) && Number(value) > balance;
  const transaction = useTransaction(sendTokens);
  const review = async () => {
    setChecked(true);
    if (!ADDRESS.test(to) || !isAmount(value)) return;
    const sent = await transaction.send({ network, amount: toUFix64(value), to });
    if (!sent) return;
    remember(device, { id: sent.id, kind: "send", amount: value, other: to });
    markDone("send");
  };
  return (
    <Screen title={t.send.title}>
      <form
        className="form"
        onSubmit={(event) => {
          event.preventDefault();
          void review();
        }}
      >
        <Field
          label={t.send.to}
          value={to}
          onChange={setTo}
          hint={t.send.toHint}
          error={isChecked && !ADDRESS.test(to) ? t.send.invalidTo : undefined}
          isCode
        />
        <div className="chips">
          {choices.map(([name, address]) => (
            <button
              key={name}
              type="button"
              className="chip"
              aria-pressed={to === address}
              onClick={() => setTo(address ?? "")}
            >
              {name}
            </button>
          ))}
        </div>
        <Field
          label={t.send.amount}
          value={amount}
          onChange={setAmount}
          inputMode="decimal"
          hint={balance === undefined ? t.send.amountHint : t.send.available(formatAmount(balance, language))}
          error={isChecked && !isAmount(value) ? t.send.invalidAmount : undefined}
        />
        {isTooMuch && (
          <div className="note locked stacked">
            <p>{t.send.tooMuch}</p>
            <ActionButton kind="plain" action={faucet}>
              {t.receive.faucet}
            </ActionButton>
          </div>
        )}
        {faucet.error !== undefined && <Failed error={faucet.error} />}
        <div className="bottom">
          <Button type="submit" isPending={transaction.isPending}>
            {t.send.review}
          </Button>
        </div>
      </form>
      <TransactionSheets transaction={transaction} done={t.send.sent(amount)} onDone={back} />
    </Screen>
  );
}
