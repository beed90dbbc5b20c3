import type { PublicKey } from "@countersign/keys";
import type { ChainKey } from "../access/resources.ts";
import { activeKey } from "./account-model.ts";
import type { KeyChange } from "./key-templates.ts";
import { TemplateError } from "./template-arguments.ts";

/** A key change without the keys on chain that its template must also name. `oldKey`: 128 hex digits. */
export type WantedKeyChange =
  | { readonly template: "add-user-key"; readonly newKey: PublicKey }
  | { readonly template: "add-recovery-key" | "replace-recovery-key"; readonly newKey: PublicKey }
  | { readonly template: "revoke-recovery-key" }
  | { readonly template: "revoke-user-key"; readonly oldKey: string };

/** The bytes of an account's active keys that weigh more than a user's, 128 hex digits. */
export interface HeavyKeys {
  /** Undefined where the account has none. */
  readonly serverKey: string | undefined;
  /** Undefined where the account has none. */
  readonly recoveryKey: string | undefined;
}

/**
 * Finds the account's active server key and recovery key.
 * @example const { serverKey, recoveryKey } = heavyKeys(await access.accountKeys(address));
 */
export function heavyKeys(
  keys: readonly Pick<ChainKey, "publicKey" | "weight" | "hashAlgorithm" | "revoked">[],
): HeavyKeys {
  return {
    serverKey: activeKey(keys, "server")?.publicKey,
    recoveryKey: activeKey(keys, "recovery")?.publicKey,
  };
}

/**
 * Adds the keys on chain that the template must name. Errors: TemplateError where the account lacks one.
 * @example
 * const keys = { serverKey: deviceKey.publicKey, recoveryKey: undefined };
 * completeKeyChange({ template: "add-user-key", newKey: deviceKey }, keys).template; // => "add-user-key"
 */
export function completeKeyChange(wanted: WantedKeyChange, { serverKey, recoveryKey }: HeavyKeys): KeyChange {
  const { template } = wanted;
  if (template === "add-user-key" || template === "revoke-user-key") return wanted as KeyChange;
  if (serverKey === undefined) throw new TemplateError("the account has no server key");
  if (template === "add-recovery-key") return { ...wanted, serverKey } as KeyChange;
  if (recoveryKey === undefined) throw new TemplateError("the account has no recovery key");
  return { ...wanted, serverKey, oldKey: recoveryKey } as KeyChange;
}
