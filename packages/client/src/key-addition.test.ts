import { envelopeMessage, keyTemplateScript, type TransactionPayload } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { describe, expect, it } from "vitest";
import { describeKeyAddition, KeyAdditionError, plainName, readKeyAddition } from "./key-addition.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import { ADDRESS, additionPayload, askedBy, messageOf } from "./testing/two-factor.ts";

const ADD_USER_KEY_SCRIPT = keyTemplateScript("add-user-key");

const { algorithm, publicKey } = generateDeviceKey();
const key = { algorithm, publicKey };
const secp256k1 = generateDeviceKey("ES256K");

describe("readKeyAddition", () => {
  it("shows all that is signed", () => {
    expect(readKeyAddition(messageOf(additionPayload(key)))).toEqual({
      address: `0x${ADDRESS}`,
      publicKey,
      algorithm: "ES256",
      weight: 1,
      hashAlgorithm: "SHA2_256",
      payer: "0x179b6b1cb6755e31",
      proposalKey: { address: `0x${ADDRESS}`, keyId: 0, sequenceNumber: 7n },
    });
    expect(readKeyAddition(messageOf(additionPayload(secp256k1)))).toMatchObject({
      publicKey: secp256k1.publicKey,
      algorithm: "ES256K",
    });
  });

  const [keyArgument, curveArgument] = additionPayload(key).arguments as [string, string];
  it.each<[string, Partial<TransactionPayload>]>([
    ["another script", { script: "transaction { prepare(account: &Account) {} }" }],
    ["another weight", { script: ADD_USER_KEY_SCRIPT.replace("weight: 1.0", "weight: 1000.0") }],
    ["another hash", { script: ADD_USER_KEY_SCRIPT.replace(/SHA2_256, weight/, "SHA3_256, weight") }],
    ["a space more", { script: `${ADD_USER_KEY_SCRIPT} ` }],
    ["a line less", { script: ADD_USER_KEY_SCRIPT.replace("assert(active < 100", "// assert(active < 100") }],
    ["no arguments", { arguments: [] }],
    ["one argument", { arguments: [keyArgument] }],
    ["three arguments", { arguments: [keyArgument, curveArgument, curveArgument] }],
    ["arguments in the wrong order", { arguments: [curveArgument, keyArgument] }],
    ["white space in an argument", { arguments: [keyArgument, curveArgument.replace(":", ": ")] }],
    ["upper-case hex", { arguments: [keyArgument.replace(publicKey, publicKey.toUpperCase()), curveArgument] }],
    ["a prefix", { arguments: [keyArgument.replace(publicKey, `0x${publicKey}`), curveArgument] }],
    ["members in another order", { arguments: [`{"value":"${publicKey}","type":"String"}`, curveArgument] }],
    ["a member twice", { arguments: [keyArgument, '{"type":"Bool","value":true,"value":false}'] }],
    ["text for a Bool", { arguments: [keyArgument, '{"type":"Bool","value":"false"}'] }],
    ["two authorizers", { authorizers: [ADDRESS, "179b6b1cb6755e31"] }],
    ["nobody who authorizes", { authorizers: [] }],
    ["another account that proposes", { proposalKey: { address: "179b6b1cb6755e31", keyId: 0, sequenceNumber: 0n } }],
  ])("refuses %s", (_, change) => {
    expect(() => readKeyAddition(messageOf(additionPayload(key, change)))).toThrow(KeyAdditionError);
  });

  it("refuses an envelope, trailing bytes, a missing byte and what is no message", () => {
    const envelope = bytesToHex(envelopeMessage({ ...additionPayload(key), payloadSignatures: [] }));
    const message = messageOf(additionPayload(key));
    for (const wrong of [envelope, `${message}00`, message.slice(0, -2), message.slice(2), "", "0x", "xyz", "00"]) {
      expect(() => readKeyAddition(wrong)).toThrow(KeyAdditionError);
    }
  });
});

describe("describeKeyAddition", () => {
  it("says which device asks, what happens and what to type", () => {
    const auth = askedBy(key);
    expect(describeKeyAddition(auth)).toBe(
      "“Ada's new phone” (Apple iPhone 15, iOS 18.1) asks to sign in to Demo wallet as ada@example.com from 192.0.2.7 (Paris). " +
        `If you approve, its key is added to your account 0x${ADDRESS} with weight 1, and it can then act for you together with the service, as this device can. ` +
        "Approve only if the other device is in front of you, by typing the code that it shows.",
    );
  });

  it("leaves out what is not known", () => {
    const device = { name: "", deviceManufacturer: "", deviceModel: "", osName: "", osVersion: "" };
    const auth = askedBy(key, { device });
    auth.request.userOpInfo.signIn = { email: "", ip: "", location: "" };
    auth.request.app.appName = "";
    expect(describeKeyAddition(auth)).toMatch(/^“A device without a name” asks to sign in to an app\. If you/);
  });

  it("does not let a name disguise itself", () => {
    const name = `\u202eyour own phone”.\nApprove this\u200b${"!".repeat(200)}`;
    const text = describeKeyAddition(askedBy(key, { device: { name } }));
    expect(text).toMatch(/^“your own phone"\. Approve this !{34}…” \(Apple/);
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(plainName(name)).toMatch(/^your own phone"\. Approve this !{34}…$/);
  });

  it.each(["\u3164", "\u2800", "\ufe0f\u{e0101}", " \u115f\u034f ", "\u{1d159}"])(
    "takes a name that looks empty for none",
    (name) => {
      expect(plainName(name)).toBe("");
      expect(describeKeyAddition(askedBy(key, { device: { name } }))).toMatch(/^“A device without a name” /);
    },
  );

  it("describes nothing but the addition of a key", () => {
    const message = messageOf(additionPayload(key, { script: "transaction {}" }));
    expect(() => describeKeyAddition(askedBy(key, { message }))).toThrow(KeyAdditionError);
  });
});
