import { generateKeyPair } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { addKey, changeOf, envelopeBy, revokeKey, sessionOf } from "../testing/key-history-fixture.ts";
import { findAdded } from "../testing/memory-added-keys.ts";
import {
  account,
  addedKeys,
  asked,
  chainName,
  clock,
  device,
  paymaster,
  recoveryKeys,
  revokedKeys,
  state,
  TIME_LOCK_POLICY,
} from "../testing/policy-fixture.ts";
import { refusalOf } from "../testing/template-fixture.ts";

const key = generateKeyPair;
let young = key();
beforeEach(() => {
  young = key();
});

describe("an ephemeral token's addition", () => {
  const newDevice = key();
  const ephemeral = { ...sessionOf(newDevice), scope: "sign", sessionId: "request" } as const;
  const payload = changeOf({ template: "add-user-key", newKey: newDevice.publicKey });
  const paying = async (...signers: ReturnType<typeof key>[]) =>
    refusalOf(paymaster(asked(await envelopeBy(payload, signers, sessionOf(device)), ephemeral)));
  const { accountId } = account;

  it("is paid for with the signature of a device that the signer has helped onto the account", async () => {
    expect(await paying(device)).toBe("signed");
    await addKey(young.publicKey);
    expect(await paying(young)).toBe("signed");
  });

  it("needs one device's signature, and no more", async () => {
    expect(await paying()).toBe("UserSignatureMissing");
    await addKey(young.publicKey);
    expect(await paying(device, young)).toBe("UserSignatureInvalid");
  });

  it("is not approved by a key that the signer does not know, nor by the new one itself", async () => {
    expect(await paying(young)).toBe("UserSignatureInvalid");
    expect(await paying(newDevice)).toBe("UserSignatureInvalid");
    expect(await paying(device)).toBe("signed");
    expect(await paying(newDevice)).toBe("UserSignatureInvalid");
  });

  it("is not approved by a key that is blocked: it belongs to a device that was removed", async () => {
    await addKey(young.publicKey);
    state.blockedKeys = [young.publicKey];
    expect(await paying(young)).toBe("BlockedKey");
    expect(await paying(device)).toBe("signed");
  });

  it("is compared with the first hundred keys of the account", async () => {
    addedKeys.clear();
    const keys = Array.from({ length: 100 }, key);
    await addedKeys.recordCreation(
      [...keys, young].map(({ publicKey }) => publicKey),
      clock.now(),
    );
    expect(await paying(young)).toBe("UserSignatureInvalid");
    expect(await paying(keys.at(-1)!)).toBe("signed");
  });

  it("is not approved by a key whose revocation was signed", async () => {
    await addKey(young.publicKey);
    await revokeKey(young.publicKey, device);
    expect(await paying(young)).toBe("UserSignatureInvalid");
  });

  it("is recorded as a recovery key's where one approves it, after its time lock", async () => {
    const recovery = key();
    await recoveryKeys.record(account, recovery.publicKey);
    expect(await paying(recovery)).toBe("TimeLockRequired");
    clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs);
    expect(await paying(recovery)).toBe("signed");
    expect(findAdded(await addedKeys.of(account), newDevice.publicKey.publicKey)?.source).toBe("recovery");
    await revokedKeys.record({ accountId, chainName }, recovery.publicKey.publicKey);
    expect(await paying(recovery)).toBe("UserSignatureInvalid");
  });
});
