import type { VerifiedToken } from "@countersign/core";
import {
  envelopeMessage,
  type KeyChange,
  passkeySignature,
  payloadMessage,
  type TransactionSignature,
} from "@countersign/flow";
import { bytesToHex, challengeOf } from "@countersign/keys";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { simulatedPasskey } from "@countersign/keys/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { changeOf, envelopeBy, sessionOf } from "../testing/key-history-fixture.ts";
import {
  account,
  asked,
  clock,
  device,
  paymaster,
  server,
  state,
  TIME_LOCK_POLICY,
  timeLocks,
  transaction,
  tx,
  vault,
} from "../testing/policy-fixture.ts";
import { ageIs, changing, fresh, HOUR, refusalOf } from "../testing/template-fixture.ts";
import { cancelTimeLock } from "./cancel-time-lock.ts";

const recovery = generateKeyPair();
const newDevice = generateKeyPair();

const adding = async (newKey = recovery.publicKey): Promise<Uint8Array> =>
  payloadMessage(
    changing({ template: "add-recovery-key", serverKey: (await vault.publicKey(server)).publicKey, newKey }),
  );
/** Has the recovery key's addition signed by device, server key and paymaster, on a young account. */
const add = async (change?: KeyChange): Promise<void> => {
  ageIs(HOUR);
  const { publicKey: serverKey } = await vault.publicKey(server);
  const payload = changeOf(change ?? { template: "add-recovery-key", serverKey, newKey: recovery.publicKey });
  const session = { ...sessionOf(device), ...fresh() };
  await paymaster(asked(await envelopeBy(payload, [device], session), session));
};
/** Requests a template that is not signed yet; returns its time lock's id. */
const requested = async (...request: Parameters<typeof asked>): Promise<string> => {
  const { metadata } = await transaction(asked(...request)).catch((thrown) => thrown);
  return metadata.timeLockId;
};
const cancel = (id: string, deviceCreatedAt = new Date(0)) => {
  const command = { accountId: account.accountId, id, deviceCreatedAt, requestId: "" };
  return cancelTimeLock({ timeLocks, timeLockPolicy: TIME_LOCK_POLICY, clock })(command);
};

describe("a change of the recovery key", () => {
  beforeEach(() => ageIs(25 * HOUR));

  it("waits 72 hours from the first request, with one event, and then is signed", async () => {
    const message = await adding();
    const error = await transaction(asked(message, fresh())).catch((thrown) => thrown);
    const availableAt = new Date(clock.now().getTime() + TIME_LOCK_POLICY.recoveryKeyMs).toISOString();
    expect(error).toMatchObject({
      reason: "TimeLockRequired",
      metadata: { availableAt, timeLockId: expect.any(String) },
    });
    clock.advance(TIME_LOCK_POLICY.recoveryKeyMs - 1);
    expect(await refusalOf(transaction(asked(message, fresh())))).toBe("TimeLockRequired");
    expect(timeLocks.events).toEqual(["started add-recovery-key"]);
    clock.advance(1);
    expect(await refusalOf(transaction(asked(message, fresh())))).toBe("signed");
  });

  it("needs a login of the last five minutes, each time", async () => {
    const message = await adding();
    const old = { authTime: new Date(clock.now().getTime() - TIME_LOCK_POLICY.loginMaxAgeMs - 1) };
    expect(await refusalOf(transaction(asked(message, old)))).toBe("LoginTooOld");
    expect(await refusalOf(transaction(asked(message)))).toBe("LoginTooOld");
    expect(timeLocks.events).toEqual([]);
  });

  it("does not wait on a young account, and does where nobody knows its age", async () => {
    ageIs(HOUR);
    expect(await refusalOf(transaction(asked(await adding(), fresh())))).toBe("signed");
    state.bindings = [account];
    expect(await refusalOf(transaction(asked(await adding(), fresh())))).toBe("TimeLockRequired");
  });

  it("waits on a further chain too, where the account is old and its binding is young", async () => {
    const at = (ms: number) => new Date(clock.now().getTime() - ms);
    const elsewhere = { ...account, chainName: "elsewhere", address: "179b6b1cb6755e31", boundAt: at(25 * HOUR) };
    state.bindings = [{ ...account, boundAt: at(HOUR) }, elsewhere];
    expect(await refusalOf(transaction(asked(await adding(), fresh())))).toBe("TimeLockRequired");
  });

  it("begins again for another key, and once it was granted for a day", async () => {
    await refusalOf(transaction(asked(await adding(), fresh())));
    clock.advance(TIME_LOCK_POLICY.recoveryKeyMs);
    const other = await adding(generateKeyPair().publicKey);
    expect(await refusalOf(transaction(asked(other, fresh())))).toBe("TimeLockRequired");
    clock.advance(TIME_LOCK_POLICY.recoveryKeyMs + TIME_LOCK_POLICY.goodForMs);
    expect(await refusalOf(transaction(asked(other, fresh())))).toBe("TimeLockRequired");
    expect(timeLocks.events).toHaveLength(3);
  });

  it("is cancelled by a device that was there before, and by no younger one; and is refused then", async () => {
    const message = await adding();
    const id = await requested(message, fresh());
    await expect(cancel(id, clock.now())).rejects.toMatchObject({
      reason: "DeviceTooYoung",
      detail: "The device came to the account after the time lock began: use an older one",
    });
    await expect(cancel(account.accountId)).rejects.toMatchObject({ reason: "TimeLockNotFound" });
    await cancel(id);
    await cancel(id);
    clock.advance(TIME_LOCK_POLICY.recoveryKeyMs - 1);
    expect(await refusalOf(transaction(asked(message, fresh())))).toBe("TimeLockCancelled");
    clock.advance(1);
    expect(await refusalOf(transaction(asked(message, fresh())))).toBe("TimeLockRequired");
  });

  it("is cancelled for as long as it is requested again", async () => {
    const message = await adding();
    const begun = clock.now().getTime();
    while (clock.now().getTime() < begun + 2 * TIME_LOCK_POLICY.contestMs) {
      expect(await refusalOf(cancel(await requested(message, fresh())))).toBe("signed");
      clock.advance(TIME_LOCK_POLICY.recoveryKeyMs);
    }
  });

  it("names the account's own server key", async () => {
    const serverKey = generateKeyPair().publicKey.publicKey;
    const change: KeyChange = { template: "add-recovery-key", serverKey, newKey: recovery.publicKey };
    expect(await refusalOf(transaction(asked(payloadMessage(changing(change)), fresh())))).toBe("BadTemplateArguments");
  });
});

describe("a recovery key's session", () => {
  const token: Partial<VerifiedToken> = {
    scope: "recover",
    deviceKey: recovery.publicKey,
    accountKey: recovery.publicKey,
  };
  const addition = () => changing({ template: "add-user-key", newKey: newDevice.publicKey });
  const signedBy = (...signers: { keyId: number; signature: Uint8Array }[]) =>
    envelopeMessage({
      ...addition(),
      payloadSignatures: signers.map(({ keyId, signature }) => ({
        address: account.address,
        keyId,
        signature: bytesToHex(signature),
      })),
    });

  it("lets one device in after its time lock, and signs nothing else", async () => {
    const message = payloadMessage(addition());
    expect(await refusalOf(transaction(asked(payloadMessage(tx()), token)))).toBe("OutsideEphemeralScope");
    expect(await refusalOf(transaction(asked(await adding(), { ...token, ...fresh() })))).toBe("OutsideEphemeralScope");
    expect(await refusalOf(transaction(asked(message, token)))).toBe("TimeLockRequired");
    clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs);
    const { signature } = await transaction(asked(message, token));
    const own = { keyId: 2, signature: signMessage(recovery.privateKey, message) };
    expect(await refusalOf(paymaster(asked(signedBy({ keyId: 0, signature }, own), token)))).toBe("signed");
  });

  const ephemeral: Partial<VerifiedToken> = {
    scope: "sign",
    sessionId: "01900000-0000-7000-8000-0000000000f1",
    deviceKey: newDevice.publicKey,
    accountKey: newDevice.publicKey,
  };
  it("locks nothing that a device approves, though there is a recovery key", async () => {
    await add();
    const message = payloadMessage(addition());
    const { signature } = await transaction(asked(message));
    const own = { keyId: 1, signature: signMessage(device.privateKey, message) };
    expect(await refusalOf(paymaster(asked(signedBy({ keyId: 0, signature }, own))))).toBe("signed");
  });

  it("keeps its time lock, which a device's own addition with a signature of unknown form does not replace", async () => {
    await add();
    const message = payloadMessage(addition());
    const recovering = () => refusalOf(transaction(asked(message, token)));
    expect(await recovering()).toBe("TimeLockRequired");
    const others = changing({ template: "add-user-key", newKey: generateKeyPair().publicKey });
    const own = signMessage(device.privateKey, payloadMessage(others));
    const { address } = account;
    const payloadSignatures = [
      { address, keyId: 0, signature: "ab".repeat(64), extensionData: "02" },
      { address, keyId: 1, signature: bytesToHex(own) },
    ];
    expect(await refusalOf(paymaster(asked(envelopeMessage({ ...others, payloadSignatures }))))).toBe("signed");
    clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs);
    expect(await recovering()).toBe("signed");
  });

  it("is a session's of a key that took another's place, too", async () => {
    const { publicKey: serverKey } = await vault.publicKey(server);
    const oldKey = generateKeyPair().publicKey.publicKey;
    await add({ template: "replace-recovery-key", serverKey, oldKey, newKey: recovery.publicKey });
    const message = payloadMessage(addition());
    const { signature } = await transaction(asked(message, ephemeral));
    const stolen = { keyId: 2, signature: signMessage(recovery.privateKey, message) };
    expect(await refusalOf(paymaster(asked(signedBy({ keyId: 0, signature }, stolen), ephemeral)))).toBe(
      "TimeLockRequired",
    );
  });

  it("cannot be gone round with the ephemeral token of the device that asks", async () => {
    await add();
    const message = payloadMessage(addition());
    const { signature } = await transaction(asked(message, ephemeral));
    const stolen = { keyId: 2, signature: signMessage(recovery.privateKey, message) };
    const envelope = signedBy({ keyId: 0, signature }, stolen);
    expect(await refusalOf(paymaster(asked(envelope, ephemeral)))).toBe("TimeLockRequired");
    clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs);
    expect(await refusalOf(paymaster(asked(envelope, ephemeral)))).toBe("signed");
  });

  it.each<[string, (payload: Uint8Array) => Pick<TransactionSignature, "signature" | "extensionData">]>([
    [
      "as a passkey's",
      (payload) =>
        passkeySignature(
          simulatedPasskey(recovery).assert(challengeOf({ transaction: payload }), { rpId: "no.example" }),
        ),
    ],
    [
      "under a scheme that nobody knows",
      (payload) => ({ signature: bytesToHex(signMessage(recovery.privateKey, payload)), extensionData: "02" }),
    ],
  ])("approves nothing with a signature written %s", async (_, sign) => {
    await add();
    const message = payloadMessage(addition());
    const { signature } = await transaction(asked(message, ephemeral));
    const envelope = envelopeMessage({
      ...addition(),
      payloadSignatures: [
        { address: account.address, keyId: 0, signature: bytesToHex(signature) },
        { address: account.address, keyId: 2, ...sign(message) },
      ],
    });
    expect(await refusalOf(paymaster(asked(envelope, ephemeral)))).toBe("UserSignatureInvalid");
  });

  it("cannot be gone round where the account pays: the signer would not see who signs", async () => {
    const own = payloadMessage({ ...addition(), payer: account.address });
    const envelope = envelopeMessage({ ...addition(), payer: account.address, payloadSignatures: [] });
    expect(await refusalOf(transaction(asked(own)))).toBe("UnknownPayer");
    expect(await refusalOf(transaction(asked(envelope)))).toBe("UnknownPayer");
  });

  it("is kept out by an old device for a month of asking again, and not for ever", async () => {
    ageIs(25 * HOUR);
    const message = payloadMessage(addition());
    const begun = clock.now().getTime();
    const cancelled = async () => refusalOf(cancel(await requested(message, token)));
    while ((await cancelled()) !== "TimeLockContested") clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs);
    expect(clock.now().getTime() - begun).toBe(TIME_LOCK_POLICY.contestMs);
    clock.advance(TIME_LOCK_POLICY.recoveredDeviceMs);
    expect(await refusalOf(transaction(asked(message, token)))).toBe("signed");
  });

  it("has a time lock of its own, which a device that came after it may not cancel", async () => {
    ageIs(25 * HOUR);
    const own = await requested(payloadMessage(addition()), token);
    clock.advance(2);
    const deviceCreatedAt = new Date(clock.now().getTime() - 1);
    const other = await requested(await adding(), fresh());
    await expect(cancel(own, deviceCreatedAt)).rejects.toMatchObject({ reason: "DeviceTooYoung" });
    expect(await cancel(other, deviceCreatedAt)).toMatchObject({ id: other, cancelledAt: clock.now() });
  });

  it.each([1, 25])("is not what a device's key becomes by being named, on an account of %s hours", async (hours) => {
    ageIs(hours * HOUR);
    expect(await refusalOf(transaction(asked(await adding(device.publicKey), fresh())))).toBe("BadTemplateArguments");
    const message = payloadMessage(addition());
    const { signature } = await transaction(asked(message));
    const own = { keyId: 1, signature: signMessage(device.privateKey, message) };
    expect(await refusalOf(paymaster(asked(signedBy({ keyId: 0, signature }, own))))).toBe("signed");
  });
});
