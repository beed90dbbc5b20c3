import type { CountersignClient } from "@countersign/client";
import { createContext, useContext } from "react";
import type { KeyKind, PhoneId, WalletDevice } from "../device.ts";

/** A screen over the tabs of a phone. */
export type ScreenName = { name: "send" | "receive" | "script" | "recover" } | { name: "transaction"; id: string };

/** A phone and what can be done with it. */
export interface PhoneValue {
  id: PhoneId;
  device: WalletDevice;
  screen: ScreenName | undefined;
  open: (screen: ScreenName) => void;
  back: () => void;
  /** Creates the phone's key, and the client that uses it. */
  createKey: (kind: KeyKind) => Promise<CountersignClient>;
  /** Where dialogs are shown; undefined until the phone is there. */
  surface: HTMLElement | null;
  /** Notes that a dialog is open, until the returned function is called. */
  openSheet: () => () => void;
  /** Makes it a new phone. */
  wipe: () => void;
}

export const PhoneContext = createContext<PhoneValue | undefined>(undefined);

export function usePhone(): PhoneValue {
  const value = useContext(PhoneContext);
  if (!value) throw new Error("usePhone needs a Phone above it");
  return value;
}
