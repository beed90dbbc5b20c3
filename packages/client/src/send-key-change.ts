import {
  type ChainKey,
  KEY_ROLES,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
  MAX_COMPUTATION,
} from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import type { CountersignClient } from "./countersign-client.ts";
import { type SendTransactionOptions, type SentTransaction, sendTransaction } from "./send-transaction.ts";

/** A change of the account's keys; what else its template must name is read from the chain. `oldKey`: 128 hex digits. */
export type WantedKeyChange =
  | { template: "add-user-key" | "add-recovery-key" | "replace-recovery-key"; newKey: PublicKey }
  | { template: "revoke-recovery-key" }
  | { template: "revoke-user-key"; oldKey: string };

export interface SendKeyChangeOptions
  extends Pick<SendTransactionOptions, "network" | "address" | "onSubmitted" | "signal" | "accessApi"> {
  change: WantedKeyChange;
}

/** The active key of a role that weighs more than a user's: told by its hash. */
function heavyKey(keys: readonly ChainKey[], hashAlgorithm: "SHA3_256" | "SHA2_256", what: string): string {
  const { weight } = KEY_ROLES.recovery;
  const key = keys.find((each) => !each.revoked && each.weight === weight && each.hashAlgorithm === hashAlgorithm);
  if (!key) throw new Error(`the account has no ${what}`);
  return key.publicKey;
}

function complete(change: WantedKeyChange, keys: readonly ChainKey[]): KeyChange {
  const { template } = change;
  if (template === "add-user-key" || template === "revoke-user-key") return change as KeyChange;
  const serverKey = heavyKey(keys, "SHA3_256", "server key");
  const old = template === "add-recovery-key" ? {} : { oldKey: heavyKey(keys, "SHA2_256", "recovery key") };
  return { ...change, ...old, serverKey } as KeyChange;
}

/**
 * Changes the account's keys by one of the service's templates: signed by this client's key, the server key and the paymaster.
 * Errors: as `sendTransaction`; DelayRequired and DelayCancelled for recovery keys.
 */
export function sendKeyChange(
  client: CountersignClient,
  { change, ...options }: SendKeyChangeOptions,
): Promise<SentTransaction> {
  return sendTransaction(client, {
    ...options,
    cadence: keyTemplateScript(change.template),
    args: (keys) => keyChangeArguments(complete(change, keys)),
    gasLimit: MAX_COMPUTATION,
    proposer: "server",
  });
}
