import {
  encodeCadence,
  envelopeMessage,
  keyChangeArguments,
  keyTemplateScript,
  MAX_COMPUTATION,
  payloadMessage,
  type TransactionPayload,
} from "@countersign/flow";
import { bytesToHex, type PublicKey } from "@countersign/keys";
import { generateKeyPair, verifySignature } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { createDecide } from "../domain/decide.ts";
import { signPaymaster } from "../domain/sign-paymaster.ts";
import { signTransaction } from "../domain/sign-transaction.ts";
import {
  account,
  asked as askedByGateway,
  audit,
  byDevice,
  chainName,
  clock,
  device,
  policies,
  policy,
  refusal,
  server,
  signing as signingOfVersion1,
  state,
  TIME_LOCK_POLICY,
  token,
  tx,
  vaultOfThreeVersions,
} from "../testing/policy-fixture.ts";
import { refusalOf } from "../testing/template-fixture.ts";

const vault = vaultOfThreeVersions();
let wanted = 2;
const signing = {
  ...signingOfVersion1,
  vault,
  chain: () => ({ ...policy, serverKeyVersion: wanted }),
  decide: createDecide({ vault, audit, clock, policies, recordedRefusalsPerMinute: 10_000 }),
};
const transaction = signTransaction(signing);
const paymaster = signPaymaster({
  ...signing,
  paymasters: new Set([policy.paymaster.address]),
  passkeys: { relyingPartiesOf: () => [] },
});
const asked = (message: Uint8Array, caller = "account") => ({ ...askedByGateway(message), caller });
const keyOf = async (version: number, change: object = {}) => vault.publicKey({ ...server, version, ...change });

interface RotationKeys {
  oldKey?: string;
  newServerKey?: string;
}
const rotation = async (
  { oldKey, newServerKey }: RotationKeys = {},
  change: Partial<TransactionPayload> = {},
): Promise<TransactionPayload> => {
  const keys = {
    oldKey: oldKey ?? (await keyOf(1)).publicKey,
    newServerKey: newServerKey ?? (await keyOf(2)).publicKey,
  };
  return {
    ...tx(),
    script: keyTemplateScript("rotate-server-key"),
    arguments: keyChangeArguments({ template: "rotate-server-key", ...keys }).map(encodeCadence),
    gasLimit: MAX_COMPUTATION,
    proposalKey: { address: account.address, keyId: 0, sequenceNumber: 3n },
    ...change,
  };
};
const message = async (...keys: Parameters<typeof rotation>) => payloadMessage(await rotation(...keys));
const changing = (change: Parameters<typeof keyChangeArguments>[0], keyId = 0) => ({
  ...tx(),
  script: keyTemplateScript(change.template),
  arguments: keyChangeArguments(change).map(encodeCadence),
  proposalKey: { address: account.address, keyId, sequenceNumber: 3n },
});

beforeEach(() => {
  wanted = 2;
});

/** Sets the state that RotateBinding leaves. */
const rotated = () => {
  state.bindings = [{ ...account, serverKeyIndex: 2, serverKeyVersion: 2, retired: [{ index: 0, version: 1 }] }];
};
/** Both signatures of a template that device and `version` of the server key sign. */
const signedBy = async (payload: TransactionPayload, keyId: number, version: number) => {
  const signature = bytesToHex(await vault.sign({ ...server, version }, payloadMessage(payload)));
  const [approved] = byDevice(payload).payloadSignatures;
  const serverSignature = { address: account.address, keyId, signature };
  return envelopeMessage({ ...tx(), ...payload, payloadSignatures: [serverSignature, approved!] });
};
const isSignedBy = async (key: PublicKey, signed: { signature: Uint8Array }, bytes: Uint8Array) =>
  verifySignature(key, bytes, signed.signature, "sha3-256");

describe("a rotation of the server key", () => {
  it("is signed by the old key for the account service, remembered before, and paid for", async () => {
    const bytes = await message();
    const signed = await transaction(asked(bytes));
    expect(await isSignedBy(await keyOf(1), signed, bytes)).toBe(true);
    expect(signed.keyId).toBe(0);
    expect(state.bindings[0]!.rotatingTo).toBe(2);
    await paymaster(asked(await signedBy(await rotation(), 0, 1)));
  });

  const other = { accountId: "01900000-0000-7000-8000-00000000000f" };
  it.each<[string, () => Promise<RotationKeys>]>([
    ["another account's next key", async () => ({ newServerKey: (await keyOf(2, other)).publicKey })],
    [
      "another chain's next key",
      async () => ({ newServerKey: (await keyOf(2, { chainName: "flow-other" })).publicKey }),
    ],
    ["a version that is skipped", async () => ({ newServerKey: (await keyOf(3)).publicKey })],
    ["the same version", async () => ({ newServerKey: (await keyOf(1)).publicKey })],
    ["a key of nobody's", async () => ({ newServerKey: generateKeyPair().publicKey.publicKey })],
    ["the device's key", async () => ({ newServerKey: device.publicKey.publicKey })],
    ["a recovery key as the old one", async () => ({ oldKey: generateKeyPair().publicKey.publicKey })],
    ["another account's old key", async () => ({ oldKey: (await keyOf(1, other)).publicKey })],
    [
      "the paymaster's key",
      async () => ({ newServerKey: (await vault.publicKey({ role: "paymaster", chainName })).publicKey }),
    ],
  ])("is refused with %s", async (_, keys) => {
    expect(await refusal(transaction(asked(await message(await keys()))))).toBe("BadTemplateArguments");
    expect(state.bindings[0]!.rotatingTo).toBeUndefined();
  });

  it("is refused in a non-canonical encoding", async () => {
    const { arguments: args } = await rotation();
    const spellings = [
      args.map((text) => text.replace(/[0-9a-f]{128}/, (key) => key.toUpperCase())),
      args.map((text) => text.replace(":", ": ")),
      [...args, ...args],
      [args[1]!, args[0]!],
      [],
    ];
    for (const spelled of spellings) {
      state.records = [];
      const work = transaction(asked(await message({}, { arguments: spelled })));
      expect(await refusal(work)).toBe("BadTemplateArguments");
    }
  });

  it("is the account service's to ask for: nobody else would report the seal", async () => {
    for (const caller of ["gateway", "demo-backend"]) {
      state.records = [];
      expect(await refusal(transaction(asked(await message(), caller)))).toBe("BadTemplateArguments");
    }
    state.records = [];
    expect(await refusal(paymaster(asked(await signedBy(await rotation(), 0, 1), "gateway")))).toBe(
      "BadTemplateArguments",
    );
  });

  it.each<[string, Partial<TransactionPayload>, string]>([
    [
      "a device proposes",
      { proposalKey: { address: account.address, keyId: 1, sequenceNumber: 0n } },
      "ProposerNotYours",
    ],
    ["the account pays", { payer: account.address }, "UnknownPayer"],
    ["another account authorizes", { authorizers: ["179b6b1cb6755e31"] }, "NotYourAccount"],
    ["a space is added", { script: `${keyTemplateScript("rotate-server-key")} ` }, "ProposerNotYours"],
  ])("is refused where %s", async (_, change, reason) => {
    expect(await refusal(transaction(asked(await message({}, change))))).toBe(reason);
  });

  it("is refused where the operator wants no other version, and for who is not a full session", async () => {
    wanted = 1;
    expect(await refusal(transaction(asked(await message())))).toBe("BadTemplateArguments");
    wanted = 2;
    for (const scope of ["sign", "recover"] as const) {
      state.records = [];
      const request = { ...asked(await message()), token: { ...token, scope } };
      expect(await refusal(transaction(request))).toBe("OutsideEphemeralScope");
    }
  });
});

describe("once the binding has moved", () => {
  it("the new key signs, and the old one never again", async () => {
    const before = payloadMessage(tx());
    expect(await isSignedBy(await keyOf(1), await transaction(asked(before, "gateway")), before)).toBe(true);
    rotated();
    const signed = await transaction(asked(before, "gateway"));
    expect(signed.keyId).toBe(2);
    expect(await isSignedBy(await keyOf(2), signed, before)).toBe(true);
    expect(await isSignedBy(await keyOf(1), signed, before)).toBe(false);
  });

  it("the rotation is not signed again, nor one back or on to the next but one", async () => {
    rotated();
    wanted = 3;
    const [one, two, three] = await Promise.all([keyOf(1), keyOf(2), keyOf(3)]);
    const proposalKey = { address: account.address, keyId: 2, sequenceNumber: 0n };
    const pairs = [
      [one, two],
      [two, one],
      [one, three],
      [two, two],
    ] as const;
    for (const [old, next] of pairs) {
      state.records = [];
      const bytes = await message({ oldKey: old.publicKey, newServerKey: next.publicKey }, { proposalKey });
      expect(await refusal(transaction(asked(bytes)))).toBe("BadTemplateArguments");
    }
    state.records = [];
    await transaction(asked(await message({ oldKey: two.publicKey, newServerKey: three.publicKey }, { proposalKey })));
  });

  it("an envelope that the old key signed is still paid for: the chain says that it is too late", async () => {
    const signature = bytesToHex(await vault.sign(server, payloadMessage(tx())));
    const signed = byDevice();
    const ours = { address: account.address, keyId: 0, signature };
    const envelope = envelopeMessage({ ...signed, payloadSignatures: [ours, ...signed.payloadSignatures] });
    await paymaster(asked(envelope, "gateway"));
    rotated();
    await paymaster(asked(envelope, "gateway"));
    // Of a key that is none of ours, two signatures are too many as ever.
    const strange = { ...ours, keyId: 3 };
    const odd = envelopeMessage({ ...signed, payloadSignatures: [strange, ...signed.payloadSignatures] });
    state.records = [];
    expect(await refusal(paymaster(asked(odd, "gateway")))).toBe("UserSignatureInvalid");
  });

  it("no server key of any version becomes a user's", async () => {
    rotated();
    for (const version of [1, 2, 3]) {
      state.records = [];
      const bytes = payloadMessage(changing({ template: "add-user-key", newKey: await keyOf(version) }, 2));
      expect(await refusal(transaction(asked(bytes, "gateway")))).toBe("BadTemplateArguments");
    }
  });
});

describe("around a rotation", () => {
  const add = (keyId: number) =>
    payloadMessage(changing({ template: "add-user-key", newKey: generateKeyPair().publicKey }, keyId));

  it("ordinary transactions are signed at any time", async () => {
    const bytes = payloadMessage(tx());
    const key = async () => (await transaction(asked(bytes, "gateway"))).keyId;
    expect(await key()).toBe(0);
    await transaction(asked(await message()));
    expect(await key()).toBe(0);
    rotated();
    expect(await key()).toBe(2);
  });

  it("a template that names the key to come, or the one that was, is to be made again", async () => {
    await transaction(asked(add(0), "gateway"));
    state.records = [];
    // Nobody rotates: an index that is not the server key's is a device's.
    expect(await refusal(transaction(asked(add(2), "gateway")))).toBe("ProposerNotYours");
    await transaction(asked(await message()));
    await transaction(asked(add(0), "gateway"));
    state.records = [];
    expect(await refusal(transaction(asked(add(2), "gateway")))).toBe("MessageRenewed");
    rotated();
    await transaction(asked(add(2), "gateway"));
    state.records = [];
    expect(await refusal(transaction(asked(add(0), "gateway")))).toBe("MessageRenewed");
    state.records = [];
    const newKey = generateKeyPair().publicKey;
    const named = changing({ template: "add-recovery-key", serverKey: (await keyOf(1)).publicKey, newKey }, 2);
    expect(await refusal(transaction(asked(payloadMessage(named), "gateway")))).toBe("MessageRenewed");
  });

  it("a time lock goes on: its request names another server key, and is the same", async () => {
    const newKey = generateKeyPair().publicKey;
    const waiting = async (version: number, keyId: number) => {
      const { publicKey: serverKey } = await keyOf(version);
      const bytes = payloadMessage(changing({ template: "add-recovery-key", serverKey, newKey }, keyId));
      const request = asked(bytes, "gateway");
      return refusalOf(transaction({ ...request, token: { ...request.token, authTime: clock.now() } }));
    };
    expect(await waiting(1, 0)).toBe("TimeLockRequired");
    clock.advance(TIME_LOCK_POLICY.recoveryKeyMs);
    rotated();
    expect(await waiting(2, 2)).toBe("signed");
  });

  it("the server key proposes nothing but templates, whichever it is", async () => {
    rotated();
    for (const keyId of [0, 2]) {
      state.records = [];
      const proposalKey = { address: account.address, keyId, sequenceNumber: 0n };
      expect(await refusal(transaction(asked(payloadMessage(tx({ proposalKey })), "gateway")))).toBe(
        "ProposerNotYours",
      );
    }
  });
});
