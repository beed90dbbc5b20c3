import type { PublicKey } from "@countersign/keys";
import type { EffectStore, RevokedKeys } from "../domain/ports.ts";
import type { Binding } from "../policy/account.ts";
import {
  type DeviceApprovedKey,
  type Effect,
  isWithinLimits,
  type KeyAddition,
  type RecoveryKeySlot,
  type SequenceNumberUse,
} from "../policy/effects.ts";

type EphemeralUse = Extract<Effect, { kind: "ephemeral-use" }>;

/** Where the effects of each kind go. */
export interface MemoryStores {
  readonly recoveryKeys: {
    record(account: Binding, key: PublicKey, now: Date): Promise<void>;
    countOthers(account: Binding, slot: RecoveryKeySlot, revokedKeys: Pick<RevokedKeys, "has">): Promise<number>;
  };
  readonly revokedKeys: Pick<RevokedKeys, "has"> & { record(account: Binding, publicKey: string): Promise<void> };
  readonly signedTemplates: { record(account: Binding, use: SequenceNumberUse, now: Date): Promise<boolean> };
  readonly addedKeys: {
    record(account: Binding, addition: KeyAddition, now: Date): Promise<boolean>;
    countOthersOfDevices(
      account: Binding,
      key: DeviceApprovedKey,
    ): Promise<{ readonly unrevoked: number; readonly recent: number }>;
  };
  readonly ephemeralUses: { use(use: EphemeralUse): Promise<boolean> };
  readonly rotations: { begin(version: number): void };
}

/** Keeps effects of signatures in memory; effects before a refused one stay. */
export function memoryEffects(stores: MemoryStores): EffectStore {
  const write = async (account: Binding, effect: Effect, now: Date): Promise<boolean> => {
    switch (effect.kind) {
      case "not-revoked":
        return !(await stores.revokedKeys.has(account, effect.publicKey));
      case "recovery-key":
        if ((await stores.recoveryKeys.countOthers(account, effect, stores.revokedKeys)) >= effect.limit) return false;
        await stores.recoveryKeys.record(account, effect.key, now);
        return true;
      case "revocation":
        await stores.revokedKeys.record(account, effect.publicKey);
        return true;
      case "sequence-number":
        return stores.signedTemplates.record(account, effect, now);
      case "device-approved-key":
        return isWithinLimits(await stores.addedKeys.countOthersOfDevices(account, effect), effect);
      case "key-addition":
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
