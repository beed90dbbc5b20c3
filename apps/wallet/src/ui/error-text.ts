import { ProblemError, TransactionFailedError } from "@countersign/client";
import { DeclinedError } from "@countersign/react";
import { useTexts } from "../i18n/index.tsx";

/** Returns a function that makes one sentence of an error, in the person's language where there is one. */
export function useErrorText(): (error: unknown) => string {
  const t = useTexts();
  return (error) => {
    if (error instanceof DeclinedError) return t.confirm.declined;
    if (error instanceof ProblemError) {
      const own = t.errors[error.reason] ?? t.errors[error.error];
      return own ?? (error.detail || error.title || t.common.unknownError);
    }
    if (error instanceof TransactionFailedError) return firstLine(error.result.errorMessage);
    if (!(error instanceof Error)) return t.common.unknownError;
    // OAuth's word for a person who pressed Cancel, and WebAuthn's.
    if ("error" in error && error.error === "access_denied") return t.common.loginCancelled;
    if (error.name === "NotAllowedError") return t.common.passkeyRefused;
    if (/failed to fetch|networkerror|load failed/i.test(error.message)) return t.common.offline;
    if (/popup closed/i.test(error.message)) return t.common.popupClosed;
    if (/disposed window|popup window/i.test(error.message)) return t.common.popupBlocked;
    return error.message || t.common.unknownError;
  };
}

/** The chain's message without the stack of its virtual machine. */
const firstLine = (message: string): string =>
  /error: (panic: |assertion failed: )?(?<text>[^\n]+)/.exec(message)?.groups?.text ?? message.slice(0, 200);
