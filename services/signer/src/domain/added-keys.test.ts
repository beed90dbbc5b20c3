import { envelopeMessage, payloadMessage } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import type { Effect } from "../policy/effects.ts";
import { addition } from "../testing/key-addition-fixture.ts";
import { addKey, changeOf, envelopeBy, revokeKey, sessionOf } from "../testing/key-history-fixture.ts";
import {
  account,
  addedKeys,
  asked,
  clock,
  device,
  P256_PRIME,
  paymaster,
  recoveryKeys,
  revokedKeys,
  server,
  signing,
  TIME_LOCK_POLICY,
  timeLocks,
  transaction,
  vault,
} from "../testing/policy-fixture.ts";
import { ageIs, fresh, HOUR, refusalOf } from "../testing/template-fixture.ts";
import { cancelTimeLock } from "./cancel-time-lock.ts";
import { signPaymaster } from "./sign-paymaster.ts";

const key = generateKeyPair;
const DAY = 24 * HOUR;
const QUARTER = 900_000;
let young = key();
let other = key();
beforeEach(() => {
  young = key();
  other = key();
});

/** Returns the answer to a device that asks for both signatures of a key's revocation. */
const revoking = ({ publicKey }: { publicKey: PublicKey }, by = young): Promise<string> =>
  refusalOf(revokeKey(publicKey, by));

/**
 * Adds a key with the recovery key's session, after its time lock; `meanwhile` runs before that is over,
 * `just` a quarter of an hour less a millisecond before the addition. Returns what asks for the same again.
 */
async function recover(
  { publicKey: newKey }: ReturnType<typeof key>,
  recovery: ReturnType<typeof key>,
  meanwhile: () => Promise<void> = async () => undefined,
  just: () => Promise<void> = async () => undefined,
) {
  const payload = changeOf({ template: "add-user-key", newKey });
  const session = { ...sessionOf(recovery), scope: "recover" } as const;
  expect(await refusalOf(transaction(asked(payloadMessage(payload), session)))).toBe("TimeLockRequired");
  await meanwhile();
  clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs - QUARTER + 1);
  await just();
  clock.advance(QUARTER - 1);
  const pay = async () => paymaster(asked(await envelopeBy(payload, [recovery], session), session));
  await pay();
  return () => refusalOf(pay());
}

/** Equal x, the other y: the same holder. */
const negated = ({ publicKey, algorithm }: PublicKey): PublicKey => ({
  algorithm,
  publicKey: publicKey.slice(0, 64) + (P256_PRIME - BigInt(`0x${publicKey.slice(64)}`)).toString(16).padStart(64, "0"),
});

describe("a young device", () => {
  beforeEach(() => addKey(young.publicKey));

  it("revokes an older one's key only once its own is a day old, and all devices are notified", async () => {
    const payload = changeOf({ template: "revoke-user-key", oldKey: device.publicKey.publicKey });
    clock.advance(HOUR);
    const error = await transaction(asked(payloadMessage(payload), sessionOf(young))).catch((thrown) => thrown);
    const availableAt = new Date(clock.now().getTime() + 23 * HOUR).toISOString();
    expect(error).toMatchObject({
      reason: "TimeLockRequired",
      metadata: { availableAt, timeLockId: expect.any(String) },
    });
    expect(timeLocks.events).toEqual(["started revoke-user-key"]);
    clock.advance(23 * HOUR - 1);
    expect(await revoking(device)).toBe("TimeLockRequired");
    expect(await revokedKeys.has(account, device.publicKey.publicKey)).toBe(false);
    clock.advance(1);
    expect(await revoking(device)).toBe("signed");
  });

  it("does not go round it by the paymaster, by paying itself, or as its negation", async () => {
    const payload = changeOf({ template: "revoke-user-key", oldKey: device.publicKey.publicKey });
    // The server's signature is another older device's, which is old enough.
    await addKey(other.publicKey);
    clock.advance(DAY);
    young = key();
    await addKey(young.publicKey);
    const signed = await envelopeBy(payload, [young], sessionOf(other));
    expect(await refusalOf(paymaster(asked(signed, sessionOf(young))))).toBe("TimeLockRequired");
    for (const oldKey of [device.publicKey.publicKey, negated(device.publicKey).publicKey]) {
      const own = { ...changeOf({ template: "revoke-user-key", oldKey }), payer: account.address };
      expect(await refusalOf(transaction(asked(envelopeMessage(own), sessionOf(young))))).toBe("UnknownPayer");
      expect(await refusalOf(transaction(asked(payloadMessage(own), sessionOf(young))))).toBe("UnknownPayer");
    }
  });

  it("is kept from it by an older one, and by no younger one", async () => {
    expect(await revoking(device)).toBe("TimeLockRequired");
    const [lock] = await timeLocks.list(account.accountId, clock.now());
    const cancel = (deviceCreatedAt: Date) =>
      cancelTimeLock({ timeLocks, timeLockPolicy: TIME_LOCK_POLICY, clock })({
        ...{ accountId: account.accountId, id: lock!.id, requestId: "" },
        deviceCreatedAt,
      });
    await expect(cancel(clock.now())).rejects.toMatchObject({ reason: "DeviceTooYoung" });
    await cancel(new Date(0));
    clock.advance(DAY - 1);
    expect(await revoking(device)).toBe("TimeLockCancelled");
  });

  it("does not use the time lock of another young one, whose key was revoked before it was over", async () => {
    expect(await revoking(device)).toBe("TimeLockRequired");
    await revokeKey(young.publicKey, device);
    clock.advance(DAY);
    await addKey(other.publicKey);
    expect(await revoking(device, other)).toBe("TimeLockRequired");
    expect(timeLocks.events).toEqual(["started revoke-user-key", "started revoke-user-key"]);
    clock.advance(DAY);
    expect(await revoking(device, other)).toBe("signed");
  });

  it("is revoked at once by an older one, and not by itself", async () => {
    await expect(revokeKey(young.publicKey, young)).rejects.toMatchObject({
      metadata: { reason: "BadTemplateArguments" },
    });
    await revokeKey(young.publicKey, device);
  });

  it("cannot have its age begin before a device approved: what the authorizer signs for it counts for nothing", async () => {
    const early = key();
    const ephemeral = { ...sessionOf(early), scope: "sign", sessionId: "early" } as const;
    await transaction(asked(payloadMessage(addition(early.publicKey)), ephemeral));
    clock.advance(DAY);
    await addKey(early.publicKey);
    expect(await revoking(device, early)).toBe("TimeLockRequired");
  });

  it("cannot use an approval of long ago that never ran: the last one counts", async () => {
    const kept = key();
    await addKey(kept.publicKey);
    clock.advance(DAY);
    await addKey(kept.publicKey);
    expect(await revoking(device, kept)).toBe("TimeLockRequired");
  });

  it("cannot use an approval of long ago by having an approver run that the signer does not know", async () => {
    const [kept, fresh] = [key(), key()];
    await addKey(kept.publicKey);
    await revokedKeys.record(account, device.publicKey.publicKey);
    clock.advance(QUARTER - 1);
    await addKey(kept.publicKey);
    expect((await addedKeys.find(account, kept.publicKey.publicKey))?.signedAt).toEqual(clock.now());
    clock.advance(DAY);
    expect(await refusalOf(addKey(kept.publicKey))).toBe("BadTemplateArguments");
    await addKey(fresh.publicKey);
    expect(await addedKeys.find(account, fresh.publicKey.publicKey)).toBeUndefined();
  });

  it("cannot use an approval that it renews all the time", async () => {
    const kept = key();
    for (let ms = 0; ms < DAY; ms += QUARTER / 2) {
      clock.advance(QUARTER / 2);
      await addKey(kept.publicKey);
    }
    expect(await revoking(device, kept)).toBe("TimeLockRequired");
  }, 60_000);

  it("cannot make an older device count as young by having its key signed for once more", async () => {
    clock.advance(DAY);
    await addKey(other.publicKey);
    clock.advance(QUARTER);
    const newer = key();
    await addKey(newer.publicKey, other);
    for (const older of [other.publicKey, negated(other.publicKey)]) {
      expect(await refusalOf(addKey(older, newer))).toBe("BadTemplateArguments");
    }
    clock.advance(DAY - QUARTER);
    expect(await revoking(newer, other)).toBe("signed");
  });

  it("is younger than all that came before its own last approval", async () => {
    clock.advance(1);
    await addKey(other.publicKey);
    clock.advance(1);
    await addKey(young.publicKey);
    clock.advance(QUARTER);
    expect(await refusalOf(addKey(other.publicKey, young))).toBe("BadTemplateArguments");
  });
});

describe("without a time lock", () => {
  it("the key of the creation revokes others, which found nothing older there", async () => {
    addedKeys.clear();
    const now = clock.now();
    await addedKeys.recordCreation([device.publicKey], now);
    await addKey(other.publicKey);
    expect(await revoking(other, device)).toBe("signed");
  });

  it("a device revokes others that a recovery key has enrolled after its time lock, and stays so", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    await recover(young, recovery);
    expect(await revoking(device)).toBe("signed");
    // The thief's old phone, which is to be revoked, cannot take that away.
    await addKey(young.publicKey);
    expect(await revoking(device)).toBe("signed");
  });

  it("also where the thief's old phone has named the recovery key as a revoked user key", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    expect(await revoking(recovery, device)).toBe("signed");
    await recover(young, recovery);
    expect(await revoking(device)).toBe("signed");
  });
});

it("a key has one role: a user key becomes no recovery key, for which a token would be enough, nor the reverse", async () => {
  const { publicKey: serverKey } = await vault.publicKey(server);
  ageIs(HOUR);
  for (const newKey of [device.publicKey, negated(device.publicKey)]) {
    for (const change of [
      { template: "add-recovery-key", serverKey, newKey },
      { template: "replace-recovery-key", serverKey, oldKey: other.publicKey.publicKey, newKey },
    ] as const)
      expect(await refusalOf(transaction(asked(payloadMessage(changeOf(change)), fresh())))).toBe(
        "BadTemplateArguments",
      );
  }
  expect(await recoveryKeys.of(account)).toEqual([]);
  await recoveryKeys.record(account, young.publicKey);
  expect(await refusalOf(addKey(young.publicKey))).toBe("BadTemplateArguments");
  expect(await refusalOf(addKey(negated(young.publicKey)))).toBe("BadTemplateArguments");
});

it("a key has one role also where the database alone sees the other, which a concurrent request was signed for", async () => {
  const effects = { record: async (_: unknown, all: readonly Effect[]) => all.find(({ kind }) => kind === "one-role") };
  const passkeys = { relyingPartiesOf: () => [] };
  const pay = signPaymaster({ ...signing, effects, passkeys, paymasters: new Set() });
  const payload = changeOf({ template: "add-user-key", newKey: young.publicKey });
  const envelope = await envelopeBy(payload, [device], sessionOf(device));
  expect(await refusalOf(pay(asked(envelope, sessionOf(device))))).toBe("BadTemplateArguments");
});

it("a device's key is not marked as revoked by being named as the recovery key", async () => {
  const { publicKey: serverKey } = await vault.publicKey(server);
  ageIs(HOUR);
  for (const oldKey of [device.publicKey.publicKey, negated(device.publicKey).publicKey]) {
    for (const change of [
      { template: "revoke-recovery-key", serverKey, oldKey },
      { template: "replace-recovery-key", serverKey, oldKey, newKey: key().publicKey },
    ] as const) {
      const session = { ...sessionOf(device), ...fresh() };
      await paymaster(asked(await envelopeBy(changeOf(change), [device], session), session));
    }
  }
  // It still approves, and what it adds is known.
  await addKey(young.publicKey);
  expect(await addedKeys.of(account)).toMatchObject([{ revoked: false }, { revoked: false }]);
});

describe("a key that a recovery key is to add", () => {
  it("is added, though a thief's old phone has named it as revoked, approved by it or not", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    for (const approves of [false, true]) {
      const added = key();
      await recover(added, recovery, async () => {
        if (approves) await addKey(added.publicKey);
        expect(await revoking(added, device)).toBe("signed");
      });
      const row = await addedKeys.find(account, added.publicKey.publicKey);
      expect(row).toMatchObject({ source: "recovery", revoked: false });
    }
  });

  it("is added again while the addition may still execute, though named as revoked since: its answer may be lost", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    const again = await recover(young, recovery);
    for (let ms = 0; ms < QUARTER; ms += QUARTER / 3) {
      expect(await revoking(young, device)).toBe("signed");
      expect(await again()).toBe("signed");
      expect((await addedKeys.find(account, young.publicKey.publicKey))?.revoked).toBe(false);
      clock.advance(QUARTER / 3);
    }
    expect(await revoking(young, device)).toBe("signed");
    expect(await again()).toBe("BadTemplateArguments");
  });

  it("is added again for as long where the thief's old phone has approved it before", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    const again = await recover(young, recovery, undefined, () => addKey(young.publicKey));
    clock.advance(QUARTER - 1);
    expect(await revoking(young, device)).toBe("signed");
    expect(await again()).toBe("signed");
  });

  it("is not added again once it was revoked after that, though the time lock is still over", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    const again = await recover(young, recovery);
    clock.advance(QUARTER);
    expect(await revoking(young, device)).toBe("signed");
    expect(await again()).toBe("BadTemplateArguments");
    expect((await addedKeys.find(account, young.publicKey.publicKey))?.revoked).toBe(true);
  });

  it("is not the creation's, which was revoked: it was on the account", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    await addKey(young.publicKey);
    clock.advance(DAY);
    expect(await revoking(device)).toBe("signed");
    const session = { ...sessionOf(recovery), scope: "recover" } as const;
    const payload = changeOf({ template: "add-user-key", newKey: device.publicKey });
    expect(await refusalOf(transaction(asked(payloadMessage(payload), session)))).toBe("BadTemplateArguments");
  });

  it("is not a revoked one where the recovery key's own revocation was signed", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    await revokedKeys.record(account, recovery.publicKey.publicKey);
    expect(await revoking(young, device)).toBe("signed");
    await expect(recover(young, recovery)).rejects.toMatchObject({ metadata: { reason: "BadTemplateArguments" } });
  });
});

it("a key that was not seen to come counts as young: it waits for the whole time lock", async () => {
  expect(await revoking(device)).toBe("TimeLockRequired");
  clock.advance(TIME_LOCK_POLICY.youngDeviceMs - 1);
  expect(await revoking(device)).toBe("TimeLockRequired");
  clock.advance(1);
  expect(await revoking(device)).toBe("signed");
});
