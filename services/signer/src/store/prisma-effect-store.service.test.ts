import { uuidv7 } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { expect, it } from "vitest";
import type { Effect } from "../policy/effects.ts";
import { someBinding } from "../testing/binding-fixture.ts";
import { clock, prisma, replicas } from "../testing/store-fixture.ts";
import { prismaEffectStore } from "./prisma-effect-store.ts";
import { prismaRecoveryKeys, prismaRevokedKeys } from "./prisma-key-history.ts";
import { prismaSignedTemplates } from "./prisma-signed-templates.ts";

const bindings = { forget: () => undefined };
const key = () => generateKeyPair().publicKey;
const ephemeralUse = (sessionId: string, limit = 1): Effect => ({
  kind: "ephemeral-use",
  sessionId,
  operation: "transaction",
  limit,
});
const sequenceNumber = (number: bigint, sessionId: string, limit = 1000): Effect => ({
  kind: "sequence-number",
  ...{ number, sessionId, limit, openSince: new Date(0), unfrozenAt: undefined },
});

it("writes all effects, or none of them where the database refuses one", async () => {
  const account = someBinding();
  const sessionId = uuidv7(clock);
  const [recoveryKey, revokedKey] = [key(), key()];
  const effects: Effect[] = [
    { kind: "recovery-key", key: recoveryKey },
    { kind: "revocation", publicKey: revokedKey.publicKey },
    sequenceNumber(3n, sessionId),
    ephemeralUse(sessionId),
  ];
  const written = async () => [
    await prismaRecoveryKeys(prisma).of(account),
    await prismaRevokedKeys(prisma).has(account, revokedKey.publicKey),
    await prismaSignedTemplates(prisma).has(account, 3n),
  ];
  const store = prismaEffectStore(prisma, bindings);
  expect(await store.record(account, [ephemeralUse(sessionId)], clock.now())).toBeUndefined();
  expect(await store.record(account, effects, clock.now())).toEqual(ephemeralUse(sessionId));
  expect(await written()).toEqual([[], false, false]);
  expect(await store.record(account, effects.slice(0, 3), clock.now())).toBeUndefined();
  expect(await written()).toEqual([[recoveryKey], true, true]);
});

it("of racing effects through two replicas the limits let so many through, and nobody waits for ever", async () => {
  const account = someBinding();
  const sessionId = uuidv7(clock);
  const stores = replicas.map((replica) => prismaEffectStore(replica, bindings));
  const refused = await Promise.all(
    Array.from({ length: 12 }, (_, i) => {
      const effects: Effect[] = [
        { kind: "recovery-key", key: key() },
        { kind: "revocation", publicKey: key().publicKey },
        sequenceNumber(BigInt(i), sessionId, 16),
        ephemeralUse(sessionId, 5),
      ];
      return stores[i % 2]!.record(account, effects, clock.now());
    }),
  );
  expect(refused.filter((effect) => effect === undefined)).toHaveLength(5);
  expect(new Set(refused.map((effect) => effect?.kind))).toEqual(new Set([undefined, "ephemeral-use"]));
  expect(await prismaRecoveryKeys(prisma).of(account)).toHaveLength(5);
  expect(await prisma.signedTemplate.count({ where: { accountId: account.accountId } })).toBe(5);
});
