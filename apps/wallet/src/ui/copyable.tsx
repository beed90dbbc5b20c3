import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { useTexts } from "../i18n/index.tsx";

/** Returns the ends of an address or id. */
export const short = (text: string): string => (text.length > 14 ? `${text.slice(0, 8)}…${text.slice(-6)}` : text);

/** An address or id that can be copied as a whole. */
export function Copyable({ text, isWhole = false }: { text: string; isWhole?: boolean }) {
  const t = useTexts();
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button type="button" className="copyable" onClick={copy} title={text}>
      <span className="mono">{isWhole ? text : short(text)}</span>
      {isCopied ? <Check size={14} aria-hidden /> : <Copy size={14} aria-hidden />}
      <span className="visually-hidden" aria-live="polite">
        {isCopied ? t.wallet.copied : t.wallet.copyAddress}
      </span>
    </button>
  );
}
