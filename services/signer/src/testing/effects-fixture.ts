import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import type { Effect } from "../policy/effects.ts";
import { clock } from "./store-fixture.ts";

export const bindings = { forgetEverywhere: async () => undefined };
export const key = () => generateKeyPair().publicKey;
export const ephemeralUse = (sessionId: string, limit = 1): Effect => ({
  kind: "ephemeral-use",
  sessionId,
  operation: "transaction",
  limit,
});
export const recoveryKeyEffect = (added: PublicKey, limit = 16): Effect => ({
  kind: "recovery-key",
  ...{ key: added, limit, countedSince: new Date(clock.now().getTime() - 1000) },
});
export const revocationOf = ({ publicKey }: Pick<PublicKey, "publicKey">, limit = 256, isOfUserKey = true): Effect => ({
  kind: "revocation",
  ...{ publicKey, isOfUserKey, limit, recentSince: new Date(clock.now().getTime() - 24 * 3_600_000) },
});
export const sequenceNumber = (number: bigint, sessionId: string, limit = 1000): Effect => ({
  kind: "sequence-number",
  ...{ number, sessionId, limit, openSince: new Date(0), unfrozenAt: undefined },
});
