import { ArrowDownLeft, ArrowUpRight, FileCode, KeyRound } from "lucide-react";
import { useSyncExternalStore } from "react";
import type { WalletDevice } from "../device.ts";
import { useLanguage, useTexts } from "../i18n/index.tsx";
import { short } from "../ui/copyable.tsx";
import { usePhone } from "./phone-context.tsx";

/** A transaction that a phone has caused. */
export interface Entry {
  id: string;
  kind: "send" | "receive" | "script" | "keys";
  amount?: string;
  other?: string;
  at: string;
}

const CHANGED = "wallet-history";
const NONE = "[]";

/** Notes a transaction, and has all phones read their balances again. */
export function remember(device: WalletDevice, entry: Omit<Entry, "at">): void {
  const before = JSON.parse(device.note("history") ?? NONE) as Entry[];
  const at = new Date().toISOString();
  device.keep("history", JSON.stringify([{ ...entry, at }, ...before].slice(0, 30)));
  window.dispatchEvent(new Event(CHANGED));
}

/** Calls `listener` after each transaction of either phone. */
export function onTransaction(listener: () => void): () => void {
  window.addEventListener(CHANGED, listener);
  return () => window.removeEventListener(CHANGED, listener);
}

export function useHistory(): readonly Entry[] {
  const { device } = usePhone();
  const text = useSyncExternalStore(onTransaction, () => device.note("history") ?? NONE);
  return JSON.parse(text) as Entry[];
}

const ICONS = { send: ArrowUpRight, receive: ArrowDownLeft, script: FileCode, keys: KeyRound } as const;

/** Transactions, each with the way to what the chain says about it. */
export function History({ entries }: { entries: readonly Entry[] }) {
  const t = useTexts();
  const { language } = useLanguage();
  const { open } = usePhone();
  const names = { send: t.wallet.send, receive: t.wallet.receive, script: t.wallet.script, keys: t.security.keys };
  return (
    <ul className="rows">
      {entries.map(({ id, kind, amount, other, at }) => {
        const Icon = ICONS[kind];
        const sign = kind === "send" ? "−" : "+";
        return (
          <li key={id}>
            <button type="button" className="row" onClick={() => open({ name: "transaction", id })}>
              <span className="row-icon">
                <Icon size={18} aria-hidden />
              </span>
              <span className="row-text">
                {names[kind]}
                <small className="mono">{short(other ?? id)}</small>
              </span>
              <span className="row-end">
                {amount && `${sign}${amount}`}
                <small>{new Date(at).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" })}</small>
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
