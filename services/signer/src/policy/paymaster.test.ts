import { decodeMessage, envelopeMessage, type FlowTransaction, payloadMessage } from "@countersign/flow";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { requireSigner } from "../domain/find-approval.ts";
import { account, byDevice, device, server, tx, vault } from "../testing/policy-fixture.ts";
import { oneDeviceSigned, serverKeySignedForEphemeralToken } from "./paymaster-rules.ts";
import type { RequestFacts } from "./request-facts.ts";
import { evaluate } from "./rule.ts";

const other = generateKeyPair();
const refusal = (check: Promise<unknown>): Promise<unknown> =>
  check.then(
    () => "nothing",
    (error) => error.metadata?.reason ?? error,
  );
const decoded = (transaction: FlowTransaction) => decodeMessage(envelopeMessage(transaction));
const plain = (...signers: FlowTransaction[]) =>
  decoded({ ...tx(), payloadSignatures: signers.flatMap(({ payloadSignatures }) => payloadSignatures ?? []) });

describe("the approver's signature beside an ephemeral token", () => {
  const check = async (message: ReturnType<typeof decoded>, approvers = [other.publicKey, device.publicKey]) => {
    evaluate([oneDeviceSigned], { message, account });
    const candidates = approvers.map((key) => ({ key, isRecoveryKey: false }));
    return (await requireSigner({ message, account }, candidates, [])).key;
  };

  it("is one of the keys that may approve, and is returned", async () => {
    expect(await check(decoded(byDevice()))).toBe(device.publicKey);
    expect(await check(plain(byDevice({}, other)))).toBe(other.publicKey);
  });

  it("is there, apart from the server key's", async () => {
    expect(await refusal(check(decoded(tx())))).toBe("UserSignatureMissing");
    expect(await refusal(check(decoded(byDevice({}, device, account.serverKeyIndex))))).toBe("UserSignatureMissing");
  });

  it("is of no other key, over no other payload, and alone", async () => {
    expect(await refusal(check(decoded(byDevice()), [other.publicKey]))).toBe("UserSignatureInvalid");
    expect(await refusal(check(decoded(byDevice()), []))).toBe("UserSignatureInvalid");
    expect(await refusal(check(decoded({ ...byDevice(), gasLimit: 998n })))).toBe("UserSignatureInvalid");
    expect(await refusal(check(plain(byDevice(), byDevice({}, other, 2))))).toBe("UserSignatureInvalid");
  });
});

describe("the server key's signature beside an ephemeral token", () => {
  const check = async (change: object = {}, bytes = payloadMessage(tx())) => {
    const signature = Buffer.from(await vault.sign(server, bytes)).toString("hex");
    const signed = { address: account.address, keyId: account.serverKeyIndex, signature, ...change };
    const message = decoded({ ...tx(), payloadSignatures: [signed] });
    const template = { serviceKeys: { serverKey: await vault.publicKey(server) } };
    const facts = { message, account, token: { scope: "sign" }, template } as RequestFacts;
    evaluate([serverKeySignedForEphemeralToken], facts);
  };

  it("is valid for the payload", async () => {
    await check();
    expect(await refusal(check({}, payloadMessage(tx({ gasLimit: 998n }))))).toBe("UserSignatureInvalid");
  });

  it("is of the server key's own index, in its plain form", async () => {
    expect(await refusal(check({ keyId: 1 }))).toBe("UserSignatureMissing");
    expect(await refusal(check({ extensionData: "01" }))).toBe("UserSignatureInvalid");
  });
});
