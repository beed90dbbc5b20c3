import type { PublicKey } from "@countersign/keys";
import type { ChainKey } from "../access/resources.ts";
import { KEY_ROLES } from "./account-model.ts";
import { TemplateError } from "./add-user-key.ts";
import type { KeyChange } from "./key-templates.ts";

/** A key change without the keys on chain that its template must also name. `oldKey`: 128 hex digits. */
export type WantedKeyChange =
  | {
      readonly template: "add-user-key" | "add-recovery-key" | "replace-recovery-key";
      readonly newKey: PublicKey;
    }
  | { readonly template: "revoke-recovery-key" }
  | { readonly template: "revoke-user-key"; readonly oldKey: string };

/** The bytes of an account's active keys that weigh more than a user's, 128 hex digits. */
export interface HeavyKeys {
  readonly serverKey: string | undefined;
  readonly recoveryKey: string | undefined;
}

/** Finds the account's active server key and recovery key: they weigh the same and differ in their hash. */
export function heavyKeys(
  keys: readonly Pick<ChainKey, "publicKey" | "weight" | "hashAlgorithm" | "revoked">[],
): HeavyKeys {
  const active = (weight: number, hash: string) =>
    keys.find((key) => !key.revoked && key.weight === weight && key.hashAlgorithm === hash)?.publicKey;
  return {
    serverKey: active(KEY_ROLES.server.weight, "SHA3_256"),
    recoveryKey: active(KEY_ROLES.recovery.weight, "SHA2_256"),
  };
}

/** Adds the keys on chain that the template must name. Errors: TemplateError where the account lacks one. */
export function completeKeyChange(wanted: WantedKeyChange, { serverKey, recoveryKey }: HeavyKeys): KeyChange {
  const { template } = wanted;
  if (template === "add-user-key" || template === "revoke-user-key") return wanted as KeyChange;
  if (serverKey === undefined) throw new TemplateError("the account has no server key");
  if (template === "add-recovery-key") return { ...wanted, serverKey } as KeyChange;
  if (recoveryKey === undefined) throw new TemplateError("the account has no recovery key");
  return { ...wanted, serverKey, oldKey: recoveryKey } as KeyChange;
}
