import { ADD_USER_KEY_SCRIPT, cadenceBool, cadenceString, MAX_COMPUTATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { CountersignClient } from "./countersign-client.ts";
import { type SendTransactionOptions, type SentTransaction, sendTransaction } from "./send-transaction.ts";

export interface SendKeyAdditionOptions
  extends Pick<SendTransactionOptions, "network" | "address" | "onSubmitted" | "signal" | "accessApi"> {
  /** The key to add, as `readKeyAddition` gave it for a request whose code was compared. */
  userKey: PublicKey;
}

/**
 * Adds a user key to the account by a transaction of this device's own, for `approveTwoFactor` with its id.
 * Errors: as `sendTransaction`.
 */
export function sendKeyAddition(
  client: CountersignClient,
  { userKey, ...options }: SendKeyAdditionOptions,
): Promise<SentTransaction> {
  return sendTransaction(client, {
    ...options,
    cadence: ADD_USER_KEY_SCRIPT,
    args: [cadenceString(userKey.publicKey), cadenceBool(userKey.algorithm === "ES256K")],
    gasLimit: MAX_COMPUTATION,
    proposer: "server",
  });
}
