import type { PublicKey } from "@countersign/keys";
import type { AddedKeys, EffectStore, RecoveryKeys, RevokedKeys } from "../domain/ports.ts";
import type { Binding } from "../policy/account.ts";
import type { DeviceApprovedKey, Effect, KeyAddition, RecoveryKeySlot, SequenceNumberUse } from "../policy/effects.ts";
import { sameHolder } from "../policy/template.ts";

type EphemeralUse = Extract<Effect, { kind: "ephemeral-use" }>;

/** Where the effects of each kind go. */
export interface MemoryStores {
  readonly recoveryKeys: RecoveryKeys & {
    record(account: Binding, key: PublicKey, now: Date): Promise<void>;
    countOthers(slot: RecoveryKeySlot): number;
  };
  readonly revokedKeys: RevokedKeys & {
    record(account: Binding, publicKey: string): Promise<void>;
    forget(account: Binding, publicKey: string): Promise<void>;
  };
  readonly signedTemplates: { record(account: Binding, use: SequenceNumberUse, now: Date): Promise<boolean> };
  readonly addedKeys: AddedKeys & {
    record(account: Binding, addition: KeyAddition, now: Date): Promise<boolean>;
    countOthersOfDevices(key: DeviceApprovedKey): number;
  };
  readonly ephemeralUses: { use(use: EphemeralUse): Promise<boolean> };
  readonly rotations: { begin(version: number): void };
}

/** Keeps effects of signatures in memory; effects before a refused one stay. */
export function memoryEffects(stores: MemoryStores): EffectStore {
  const isKnownAs = async (account: Binding, publicKey: string, role: "user" | "recovery"): Promise<boolean> =>
    role === "user"
      ? (await stores.addedKeys.find(account, publicKey)) !== undefined
      : (await stores.recoveryKeys.of(account)).some((key) => sameHolder(key.publicKey, publicKey));
  const write = async (account: Binding, effect: Effect, now: Date): Promise<boolean> => {
    switch (effect.kind) {
      case "not-revoked":
        return !(await stores.revokedKeys.forbidAddition(account, effect.publicKey, effect));
      case "one-role":
        return !(await isKnownAs(account, effect.publicKey, effect.isUserKey ? "recovery" : "user"));
      case "recovery-key":
        if (stores.recoveryKeys.countOthers(effect) >= effect.limit) return false;
        await stores.recoveryKeys.record(account, effect.key, now);
        return true;
      case "revocation":
        if (!(await isKnownAs(account, effect.publicKey, effect.isOfUserKey ? "recovery" : "user")))
          await stores.revokedKeys.record(account, effect.publicKey);
        return true;
      case "sequence-number":
        return stores.signedTemplates.record(account, effect, now);
      case "device-approved-key":
        return stores.addedKeys.countOthersOfDevices(effect) < effect.limit;
      case "key-addition":
        if (effect.source === "recovery") await stores.revokedKeys.forget(account, effect.key.publicKey);
        return stores.addedKeys.record(account, effect, now);
      case "ephemeral-use":
        return stores.ephemeralUses.use(effect);
      case "rotation":
        stores.rotations.begin(effect.version);
        return true;
    }
  };
  return {
    async record(account, effects, now) {
      for (const effect of effects) if (!(await write(account, effect, now))) return effect;
      return undefined;
    },
  };
}
