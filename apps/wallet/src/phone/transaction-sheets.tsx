import {
  ProblemError,
  type SentTransaction,
  type TransactionDescription,
  type TransactionStep,
} from "@countersign/client";
import { type Confirmation, DeclinedError, SignatureSteps } from "@countersign/react";
import { ShieldX } from "lucide-react";
import { TRANSFER } from "../acts/transfer.ts";
import { Code } from "../code/code.tsx";
import { network } from "../config.ts";
import { useTexts } from "../i18n/index.tsx";
import { Button } from "../ui/button.tsx";
import { Sheet } from "../ui/sheet.tsx";
import { Failed } from "../ui/states.tsx";
import { usePhone } from "./phone-context.tsx";

/** The part of `useTransaction` that is shown. */
interface Shown {
  confirmation: Confirmation | undefined;
  step: TransactionStep | undefined;
  isPending: boolean;
  result: SentTransaction | undefined;
  error: unknown;
  reset: () => void;
}

interface SheetsProps {
  transaction: Shown;
  /** The title of success. */
  done: string;
  onDone: () => void;
  /** Errors that the screen shows itself. */
  isOwnError?: (error: unknown) => boolean;
}

/** The dialogs of a transaction: the question, the signatures one after another, and the outcome. */
export function TransactionSheets({ transaction, done, onDone, isOwnError }: SheetsProps) {
  const t = useTexts();
  const { open } = usePhone();
  const { confirmation, step, isPending, result, error, reset } = transaction;
  if (confirmation) return <ConfirmSheet confirmation={confirmation} />;
  const isOver = error === undefined || error instanceof DeclinedError || isOwnError?.(error) === true;
  if (!isPending && !result && isOver) return null;
  if (!isPending && !result) {
    const { reason = "", detail = "" } = error instanceof ProblemError ? error : {};
    const why = t.attack.reasons[reason];
    return (
      <Sheet title={why ? t.confirm.refused : t.common.failed}>
        {why ? (
          <p className="note failed" role="alert">
            <ShieldX size={18} aria-hidden />
            {why}
          </p>
        ) : (
          <Failed error={error} />
        )}
        {reason && <p className="reason mono">{why && detail ? `${reason}: ${detail}` : reason}</p>}
        <Button kind="plain" onPress={reset}>
          {t.common.close}
        </Button>
      </Sheet>
    );
  }
  return (
    <Sheet title={result ? done : t.progress[step?.status ?? "building"]}>
      <SignatureSteps className="signatures" step={step} labels={t.progress.parties} />
      <p className="muted centered" role="status">
        {result ? t.wallet.sponsored : t.progress[step?.status ?? "building"]}
      </p>
      {result && (
        <div className="buttons">
          <Button
            onPress={() => {
              reset();
              onDone();
            }}
          >
            {t.progress.done}
          </Button>
          <Button
            kind="plain"
            onPress={() => {
              reset();
              open({ name: "transaction", id: result.id });
            }}
          >
            {t.progress.view}
          </Button>
        </div>
      )}
    </Sheet>
  );
}

/** Returns a function that says in one sentence what a transaction does. */
function useSentence(): (description: TransactionDescription) => string {
  const t = useTexts();
  return ({ template, script, arguments: [amount, to] }) => {
    if (template) return t.confirm.templates[template] ?? template;
    if (script === TRANSFER) {
      return t.confirm.transfer(String(amount?.value).replace(/\.?0+$/, ""), String(to?.value));
    }
    return t.confirm.custom;
  };
}

/**
 * The question before anything is signed; all of it is read from the bytes to sign. Addresses are whole: a
 * shortened one could be another that looks the same.
 */
function ConfirmSheet({ confirmation: { description, approve, decline } }: { confirmation: Confirmation }) {
  const t = useTexts();
  const sentence = useSentence();
  const { script, paidBy, authorizers, arguments: args } = description;
  return (
    <Sheet title={t.confirm.title}>
      <p className="sentence">{sentence(description)}</p>
      <dl className="facts">
        <div>
          <dt>{t.confirm.account}</dt>
          <dd className="mono">{authorizers.join(", ")}</dd>
        </div>
        <div>
          <dt>{t.confirm.network}</dt>
          <dd>{network.chainName}</dd>
        </div>
        <div>
          <dt>{t.confirm.fee}</dt>
          <dd className="good">{t.confirm.paidBy[paidBy]}</dd>
        </div>
        {args.map(({ name, type, value }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: an argument's place is its identity
          <div key={at}>
            <dt>{name || type}</dt>
            <dd className="mono">{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
      <details>
        <summary>{t.confirm.showScript}</summary>
        <Code text={script} label={t.transaction.script} />
      </details>
      <div className="buttons">
        <Button onPress={approve}>{t.confirm.sign}</Button>
        <Button kind="plain" onPress={decline}>
          {t.confirm.decline}
        </Button>
      </div>
    </Sheet>
  );
}
