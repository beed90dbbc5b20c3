import {
  completeKeyChange,
  heavyKeys,
  keyChangeArguments,
  keyTemplateScript,
  type WantedKeyChange,
} from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { CountersignClient } from "./countersign-client.ts";
import { type SendTemplateOptions, sendTemplate } from "./send-transaction.ts";
import type { SentTransaction } from "./wait-for-transaction.ts";

export type { WantedKeyChange } from "@countersign/flow";

/** Options of `sendKeyChange`. */
export interface SendKeyChangeOptions extends SendTemplateOptions {
  /** The template and its keys. */
  change: WantedKeyChange;
}

/**
 * Changes the account's keys by one of the service's templates: signed by this client's key, the server key
 * and the paymaster. Errors: as `sendTransaction`; TimeLockRequired and TimeLockCancelled for recovery keys.
 * @example
 * const { id } = await sendKeyChange(client, { network, change: { template: "add-recovery-key", newKey } });
 */
export const sendKeyChange = (
  client: CountersignClient,
  { change, ...options }: SendKeyChangeOptions,
): Promise<SentTransaction> =>
  sendTemplate(client, {
    ...options,
    cadence: keyTemplateScript(change.template),
    args: (keys) => keyChangeArguments(completeKeyChange(change, heavyKeys(keys))),
  });

/** Options of `sendKeyAddition`. */
export interface SendKeyAdditionOptions extends SendTemplateOptions {
  /** The key to add, as `readKeyAddition` gave it for a request whose code was compared. */
  userKey: PublicKey;
}

/**
 * Adds a user key to the account by a transaction of this device's own, for `approveTwoFactor` with its id.
 * Errors: as `sendTransaction`.
 * @example
 * const { request } = await client.twoFactor(id);
 * const added = await sendKeyAddition(client, { network, userKey: readKeyAddition(request.message) });
 * await client.approveTwoFactor(id, { txId: added.id });
 */
export const sendKeyAddition = (
  client: CountersignClient,
  { userKey, ...options }: SendKeyAdditionOptions,
): Promise<SentTransaction> =>
  sendKeyChange(client, { ...options, change: { template: "add-user-key", newKey: userKey } });
