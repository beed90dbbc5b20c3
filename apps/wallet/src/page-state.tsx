import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import type { PhoneId } from "./device.ts";

/** The steps of the guide, in their order. */
export const STEPS = ["open", "send", "enroll", "attack", "freeze"] as const;
export type Step = (typeof STEPS)[number];

interface PageState {
  /** The file whose code is shown: of src/acts or src/attacks. */
  code: string;
  showCode: (file: string) => void;
  /** The steps of the guide that were done. */
  done: readonly Step[];
  markDone: (step: Step) => void;
  /** The step that the person wants to be shown on its phone; `at` differs between two presses. */
  asked: { step: Step; at: number } | undefined;
  ask: (step: Step) => void;
  /** The account of each phone that is signed in. */
  addresses: Partial<Record<PhoneId, string>>;
  setAddress: (phone: PhoneId, address: string | undefined) => void;
}

/** The phone on which each step is done. */
export const PHONE_OF: Record<Step, PhoneId> = {
  open: "one",
  send: "one",
  enroll: "two",
  attack: "one",
  freeze: "one",
};

const DONE = "wallet/done";
const Context = createContext<PageState | undefined>(undefined);

/** The state that the phones, the guide and the code share. */
export function PageStateProvider({ children }: { children: ReactNode }) {
  const [code, showCode] = useState("create-key");
  const [done, setDone] = useState<readonly Step[]>(() => JSON.parse(localStorage.getItem(DONE) ?? "[]"));
  const [asked, setAsked] = useState<PageState["asked"]>();
  const ask = useCallback((step: Step) => setAsked({ step, at: performance.now() }), []);
  const [addresses, setAddresses] = useState<PageState["addresses"]>({});
  const markDone = useCallback((step: Step) => {
    setDone((before) => {
      const next = before.includes(step) ? before : [...before, step];
      localStorage.setItem(DONE, JSON.stringify(next));
      return next;
    });
  }, []);
  const setAddress = useCallback((phone: PhoneId, address: string | undefined) => {
    setAddresses(({ [phone]: _, ...others }) => (address === undefined ? others : { ...others, [phone]: address }));
  }, []);
  const value = useMemo(
    () => ({ code, showCode, done, markDone, asked, ask, addresses, setAddress }),
    [code, done, markDone, asked, ask, addresses, setAddress],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function usePageState(): PageState {
  const value = useContext(Context);
  if (!value) throw new Error("usePageState needs PageStateProvider above it");
  return value;
}
