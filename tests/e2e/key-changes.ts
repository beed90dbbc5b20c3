import { sendKeyChange, type WantedKeyChange } from "@countersign/client";
import type { PublicKey } from "@countersign/keys";
import { query } from "../security/token-forge.ts";
import { network, type Person, type Phone } from "../support/person.ts";

/** Signs a change of the account's keys and sends it. */
export const change = ({ client }: Pick<Phone, "client">, wanted: WantedKeyChange) =>
  sendKeyChange(client, { network, change: wanted });

/** Returns the public half only, as requests carry it. */
export const plain = ({ publicKey, algorithm }: PublicKey): PublicKey => ({ publicKey, algorithm });

/**
 * Makes the signer see the devices that were enrolled later as having been on the account for so long,
 * however slow the machine is.
 */
export const addedAgo = ({ signedUp }: Person, age: string) =>
  query(
    "signer",
    `UPDATE added_key SET first_signed_at = now() - $2::interval, signed_at = now() - $2::interval
      WHERE account_id = $1 AND source = 'device'`,
    [signedUp.account.id, age],
  );
