import { decodeMessage, envelopeMessage, payloadMessage } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import {
  MAX_DEVICE_APPROVED_KEYS_PER_DAY,
  MAX_KEYS_PER_APPROVER,
  MAX_RECOVERY_KEYS_PER_DAY,
} from "../policy/effects.ts";
import { addKey, changeOf, envelopeBy, revokeKey, sessionOf } from "../testing/key-history-fixture.ts";
import {
  account,
  addedKeys,
  asked,
  byDevice,
  clock,
  device,
  paymaster,
  recoveryKeys,
  revokedKeys,
  server,
  TIME_LOCK_POLICY,
  transaction,
  vault,
} from "../testing/policy-fixture.ts";
import { ageIs, fresh, HOUR, refusalOf } from "../testing/template-fixture.ts";
import { requireSigner } from "./find-approval.ts";

const key = generateKeyPair;
const newKey = (): PublicKey => key("ES256K").publicKey;

/** Returns the answer to a device's change of the recovery key, of which nothing goes on chain. */
async function changeRecoveryKey(added: PublicKey, replaced?: PublicKey): Promise<string> {
  const { publicKey: serverKey } = await vault.publicKey(server);
  const change = changeOf(
    replaced
      ? { template: "replace-recovery-key", serverKey, oldKey: replaced.publicKey, newKey: added }
      : { template: "add-recovery-key", serverKey, newKey: added },
  );
  const session = { ...sessionOf(device), ...fresh() };
  return refusalOf(paymaster(asked(await envelopeBy(change, [device], session), session)));
}

describe("the recovery keys of an account", () => {
  beforeEach(() => ageIs(HOUR));

  it("are few in a day, and not for good: of keys that a thief's phone left, the owner knows none to revoke", async () => {
    const keys = Array.from({ length: MAX_RECOVERY_KEYS_PER_DAY }, newKey);
    for (const each of keys) expect(await changeRecoveryKey(each)).toBe("signed");
    expect(await changeRecoveryKey(newKey())).toBe("TooManyOpenTemplates");
    expect(await recoveryKeys.of(account)).toHaveLength(MAX_RECOVERY_KEYS_PER_DAY);
    // The ones that are known are signed for as before.
    expect(await changeRecoveryKey(keys[3]!)).toBe("signed");
    clock.advance(24 * HOUR);
    ageIs(HOUR);
    expect(await changeRecoveryKey(newKey())).toBe("signed");
  });

  it("are few also where each replaces the one before: a signed revocation may never execute", async () => {
    let last = newKey();
    expect(await changeRecoveryKey(last)).toBe("signed");
    const replace = async () => {
      const next = newKey();
      const answer = await changeRecoveryKey(next, last);
      if (answer === "signed") last = next;
      return answer;
    };
    for (let i = 1; i < MAX_RECOVERY_KEYS_PER_DAY; i++) expect(await replace()).toBe("signed");
    expect(await replace()).toBe("TooManyOpenTemplates");
    clock.advance(24 * HOUR);
    ageIs(HOUR);
    expect(await replace()).toBe("signed");
  });
});

/** Adds so many keys, the last of which approves the next ones: one device alone approves few. */
async function addKeys(count: number, by = device): Promise<typeof device> {
  let approver = by;
  for (let i = 1; i <= count; i++) {
    const next = key();
    await addKey(next.publicKey, approver);
    if (i % MAX_KEYS_PER_APPROVER === 0) approver = next;
  }
  return approver;
}

describe("the keys that may approve an ephemeral token's addition", () => {
  it("are few in a day, and recovery keys still enroll a device then", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    const payload = changeOf({ template: "add-user-key", newKey: key().publicKey });
    const session = { ...sessionOf(recovery), scope: "recover" } as const;
    expect(await refusalOf(transaction(asked(payloadMessage(payload), session)))).toBe("TimeLockRequired");
    clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs);
    const last = await addKeys(MAX_DEVICE_APPROVED_KEYS_PER_DAY);
    expect(await refusalOf(addKey(key().publicKey, last))).toBe("TooManyOpenTemplates");
    const added = await addedKeys.of(account);
    expect(added).toHaveLength(1 + MAX_DEVICE_APPROVED_KEYS_PER_DAY);
    await addKey(added.at(-2)!.key, last);
    expect(await refusalOf(paymaster(asked(await envelopeBy(payload, [recovery], session), session)))).toBe("signed");
  });

  // The chain takes a hundred keys: a thief's phone that fills them keeps the recovery key from adding one.
  it("are fewer than the account can have, of one device, for half a year; another one still adds keys", async () => {
    const other = key();
    await addKey(other.publicKey);
    const begun = clock.now().getTime();
    for (; clock.now().getTime() < begun + 180 * 24 * HOUR; clock.advance(30 * 24 * HOUR)) {
      for (let i = 0; i <= MAX_KEYS_PER_APPROVER; i++) {
        const next = key().publicKey;
        if ((await refusalOf(addKey(next))) === "signed") await revokeKey(next, device);
      }
    }
    expect(await addedKeys.of(account)).toHaveLength(1 + 2 * MAX_KEYS_PER_APPROVER);
    expect(await refusalOf(addKey(key().publicKey, other))).toBe("signed");
  });

  it("are as few of a device whose revocation was signed and never executed, and sign no texts", async () => {
    await revokedKeys.record(account, device.publicKey.publicKey);
    const last = key().publicKey;
    for (let i = 1; i < MAX_KEYS_PER_APPROVER; i++) await addKey(key().publicKey);
    await addKey(last);
    expect(await refusalOf(addKey(key().publicKey))).toBe("TooManyOpenTemplates");
    expect(await addedKeys.of(account)).toHaveLength(1);
    clock.advance(HOUR);
    expect(await refusalOf(addKey(last))).toBe("signed");
  });

  it("are few also where each is revoked: their rows stay; and not for good, where nobody knows them", async () => {
    const approvers = [device, key(), key()];
    for (const { publicKey } of approvers.slice(1)) await addKey(publicKey);
    let signed = approvers.length - 1;
    for (let i = signed; i <= MAX_DEVICE_APPROVED_KEYS_PER_DAY; i++) {
      const next = key().publicKey;
      if ((await refusalOf(addKey(next, approvers[i % approvers.length]))) === "signed") signed += 1;
      await revokeKey(next, device);
    }
    expect(signed).toBe(MAX_DEVICE_APPROVED_KEYS_PER_DAY);
    clock.advance(24 * HOUR);
    await addKey(key().publicKey);
  });

  it("of a thief's device, signed for over days, take no place of a device that a recovery key brought back", async () => {
    const recovery = key();
    const recovered = key();
    await recoveryKeys.record(account, recovery.publicKey);
    let last = device;
    for (let day = 0; day < 2; day++) {
      last = await addKeys(MAX_DEVICE_APPROVED_KEYS_PER_DAY, last);
      clock.advance(24 * HOUR);
    }
    const now = clock.now();
    await addedKeys.record(
      account,
      { key: recovered.publicKey, source: "recovery", renewableSince: now, approverSince: undefined },
      now,
    );
    const next = key();
    const ephemeral = { ...sessionOf(next), scope: "sign", sessionId: "request" } as const;
    const payload = changeOf({ template: "add-user-key", newKey: next.publicKey });
    expect(await refusalOf(paymaster(asked(await envelopeBy(payload, [recovered], ephemeral), ephemeral)))).toBe(
      "signed",
    );
  });

  it("are tried a few at a time: other requests are served between them", async () => {
    const message = decodeMessage(envelopeMessage(byDevice({}, key("ES256K"))));
    const candidates = Array.from({ length: 64 }, () => ({ key: key().publicKey, isRecoveryKey: false }));
    let turns = 0;
    let over = false;
    const serve = () => {
      turns += 1;
      if (!over) setImmediate(serve);
    };
    setImmediate(serve);
    expect(await refusalOf(requireSigner({ message, account }, candidates, []))).toBe("UserSignatureInvalid");
    over = true;
    expect(turns).toBeGreaterThan(8);
  });
});
