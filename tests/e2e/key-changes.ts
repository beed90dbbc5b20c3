import { sendKeyChange, type WantedKeyChange } from "@countersign/client";
import type { PublicKey } from "@countersign/keys";
import { network, type Phone } from "./person.ts";

/** Signs a change of the account's keys and sends it. */
export const change = ({ client }: Phone, wanted: WantedKeyChange) =>
  sendKeyChange(client, { network, change: wanted });

/** The public half only, as requests carry it. */
export const plain = ({ publicKey, algorithm }: PublicKey): PublicKey => ({ publicKey, algorithm });
