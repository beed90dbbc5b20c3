import {
  completeKeyChange,
  heavyKeys,
  keyChangeArguments,
  keyTemplateScript,
  MAX_COMPUTATION,
  type WantedKeyChange,
} from "@countersign/flow";
import type { CountersignClient } from "./countersign-client.ts";
import { type SendTransactionOptions, type SentTransaction, sendTransaction } from "./send-transaction.ts";

export type { WantedKeyChange } from "@countersign/flow";

export interface SendKeyChangeOptions
  extends Pick<SendTransactionOptions, "network" | "address" | "onSubmitted" | "signal" | "accessApi"> {
  change: WantedKeyChange;
}

/**
 * Changes the account's keys by one of the service's templates: signed by this client's key, the server key
 * and the paymaster. Errors: as `sendTransaction`; TimeLockRequired and TimeLockCancelled for recovery keys.
 */
export function sendKeyChange(
  client: CountersignClient,
  { change, ...options }: SendKeyChangeOptions,
): Promise<SentTransaction> {
  return sendTransaction(client, {
    ...options,
    cadence: keyTemplateScript(change.template),
    args: (keys) => keyChangeArguments(completeKeyChange(change, heavyKeys(keys))),
    gasLimit: MAX_COMPUTATION,
    proposer: "server",
  });
}
