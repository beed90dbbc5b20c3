import {
  encodeCadence,
  type KeyChange,
  keyChangeArguments,
  keyTemplateScript,
  payloadMessage,
} from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { addition, ephemeral, newDevice, paid } from "../testing/key-addition-fixture.ts";
import { addKey, changeOf, envelopeBy, revokeKey } from "../testing/key-history-fixture.ts";
import {
  account,
  addedKeys,
  asked,
  device,
  P256_PRIME,
  paymaster,
  recoveryKeys,
  refusal,
  revokedKeys,
  server,
  state,
  transaction,
  vault,
} from "../testing/policy-fixture.ts";
import { ageIs, fresh, HOUR, refusalOf } from "../testing/template-fixture.ts";

const OTHER_ACCOUNT = "01900000-0000-7000-8000-0000000000f2";
describe("a key that was revoked", () => {
  const changing = (change: KeyChange, args = keyChangeArguments(change).map(encodeCadence)) =>
    payloadMessage({ ...addition(), script: keyTemplateScript(change.template), arguments: args });
  const gone = newDevice.publicKey;
  const revoke = () => revokeKey(gone, device);
  /** Equal x, the other y: the same holder. */
  const negated: PublicKey = {
    algorithm: "ES256",
    publicKey:
      gone.publicKey.slice(0, 64) +
      (P256_PRIME - BigInt(`0x${gone.publicKey.slice(64)}`)).toString(16).padStart(64, "0"),
  };

  it("does not come back as a user key for any requester", async () => {
    await revoke();
    state.records = [];
    expect(await refusal(transaction(asked(payloadMessage(addition()))))).toBe("BadTemplateArguments");
    state.records = [];
    expect(await refusal(transaction(asked(payloadMessage(addition()), ephemeral)))).toBe("BadTemplateArguments");
  });

  it("is not paid for, where the addition was signed before", async () => {
    const envelope = await paid();
    await revoke();
    state.records = [];
    expect(await refusal(paymaster(asked(envelope)))).toBe("BadTemplateArguments");
  });

  it("does not come back as its negation, nor as a recovery key", async () => {
    const { publicKey: serverKey } = await vault.publicKey(server);
    await revoke();
    state.records = [];
    expect(await refusal(transaction(asked(payloadMessage(addition(negated)))))).toBe("BadTemplateArguments");
    for (const change of [
      { template: "add-recovery-key", serverKey, newKey: gone },
      { template: "replace-recovery-key", serverKey, oldKey: device.publicKey.publicKey, newKey: gone },
    ] as const) {
      state.records = [];
      expect(await refusal(transaction(asked(changing(change))))).toBe("BadTemplateArguments");
    }
  });

  it("is revoked again and again: the first transaction may not have run", async () => {
    await revoke();
    expect(await refusalOf(revoke())).toBe("signed");
  });

  it("is none that a stolen token names, for which the server key signs: the paymaster wants a user's key", async () => {
    await addKey(gone);
    const { publicKey: serverKey } = await vault.publicKey(server);
    ageIs(HOUR);
    for (const change of [
      { template: "revoke-user-key", oldKey: gone.publicKey },
      { template: "revoke-recovery-key", serverKey, oldKey: generateKeyPair().publicKey.publicKey },
      { template: "replace-recovery-key", serverKey, oldKey: gone.publicKey, newKey: generateKeyPair().publicKey },
      { template: "add-recovery-key", serverKey, newKey: generateKeyPair().publicKey },
    ] as const) {
      expect(await refusalOf(transaction(asked(changing(change), fresh())))).toBe("signed");
      const [thief, unsigned] = [generateKeyPair(), changeOf(change)];
      expect(await refusalOf(paymaster(asked(await envelopeBy(unsigned, [thief], fresh()), fresh())))).toBe(
        "UserSignatureInvalid",
      );
      if (change.template !== "add-recovery-key") expect(await revokedKeys.has(account, change.oldKey)).toBe(false);
    }
    expect(await recoveryKeys.of(account)).toEqual([]);
    expect((await addedKeys.find(account, gone.publicKey))?.revoked).toBe(false);
  });

  it("is another account's own", async () => {
    await revoke();
    state.bindings = [{ ...account, accountId: OTHER_ACCOUNT }];
    const signed = await transaction(asked(payloadMessage(addition()), { accountId: OTHER_ACCOUNT }));
    expect(signed.signature).toHaveLength(64);
  });

  it("is not one whose revocation was refused", async () => {
    const outdated = { ...addition(), gasLimit: 0n, script: keyTemplateScript("revoke-user-key") };
    const args = keyChangeArguments({ template: "revoke-user-key", oldKey: gone.publicKey }).map(encodeCadence);
    await refusal(transaction(asked(payloadMessage({ ...outdated, arguments: args }))));
    expect((await transaction(asked(payloadMessage(addition())))).signature).toHaveLength(64);
  });
});

describe("a device's own key", () => {
  it("is not added once more: kept until it is revoked, that would bring it back", async () => {
    expect(await refusal(transaction(asked(payloadMessage(addition(device.publicKey)))))).toBe("BadTemplateArguments");
  });
});

describe("a session's own key", () => {
  const revoking = (oldKey: string, template = "revoke-user-key" as const) => {
    const change = { template, oldKey };
    const script = keyTemplateScript(template);
    return payloadMessage({ ...addition(), script, arguments: keyChangeArguments(change).map(encodeCadence) });
  };

  it("is not revoked by that session, also not as its negation; another device's is", async () => {
    const own = device.publicKey.publicKey;
    const y = P256_PRIME - BigInt(`0x${own.slice(64)}`);
    for (const oldKey of [own, own.slice(0, 64) + y.toString(16).padStart(64, "0")]) {
      state.records = [];
      expect(await refusal(transaction(asked(revoking(oldKey))))).toBe("BadTemplateArguments");
    }
    expect((await transaction(asked(revoking(newDevice.publicKey.publicKey)))).signature).toHaveLength(64);
  });
});
