import { sendTransaction, signTransaction } from "@countersign/client";
import { cadenceString, envelopeMessage, payloadMessage, type TransactionPayload } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { beforeAll, describe, expect, it } from "vitest";
import {
  access,
  chain,
  chainName,
  NOTHING,
  network,
  newPhone,
  type Person,
  problemOf,
  signUpPerson,
  stack,
} from "../support/person.ts";

const paymaster = chain.paymaster.replace("0x", "");
const creator = chain.creator.replace("0x", "");
const SAVE = "transaction(s: String) { prepare(a: auth(SaveValue) &Account) { a.storage.save(s, to: /storage/said) } }";
const hex = bytesToHex;

let person: Person;
let otherPerson: Person;
beforeAll(async () => {
  [person, otherPerson] = await Promise.all([signUpPerson(), signUpPerson()]);
});

async function payloadOf(change: Partial<TransactionPayload> = {}): Promise<TransactionPayload> {
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(person.address, 1)]);
  return {
    script: NOTHING,
    arguments: [],
    referenceBlockId: block.id,
    gasLimit: 999n,
    proposalKey: { address: person.address, keyId: 1, sequenceNumber: key.sequenceNumber },
    payer: paymaster,
    authorizers: [person.address],
    ...change,
  };
}

const sign = async (payload: TransactionPayload, by: Person = person) => ({
  address: person.address,
  keyId: 1,
  signature: hex(await by.deviceKey.sign(payloadMessage(payload))),
});

describe("signing", () => {
  it("a co-signed and sponsored transaction is sealed", async () => {
    const { id, result } = await sendTransaction(person.client, {
      network,
      cadence: SAVE,
      args: [cadenceString("hello")],
    });
    expect(result).toMatchObject({ status: "Sealed", statusCode: 0, errorMessage: "" });
    expect(id).toMatch(/^[0-9a-f]{64}$/);
  });

  it("the server's signature names its key, the paymaster's its own", async () => {
    const payload = await payloadOf();
    const server = await person.client.signTransaction(hex(payloadMessage(payload)));
    expect(server).toEqual({
      addr: `0x${person.address}`,
      keyId: 0,
      signature: expect.stringMatching(/^[0-9a-f]{128}$/),
    });
    const signed = await signTransaction(person.client, payload, chainName);
    expect(signed.envelopeSignatures[0]?.address).toBe(paymaster);
  });

  it("the chain refuses what only the device has signed", async () => {
    const payload = await payloadOf();
    const payloadSignatures = [await sign(payload)];
    const payer = await person.client.signPaymaster(hex(envelopeMessage({ ...payload, payloadSignatures })));
    const envelopeSignatures = [{ address: paymaster, keyId: payer.keyId, signature: payer.signature }];
    const id = await access.submit({ ...payload, payloadSignatures, envelopeSignatures });
    const result = await access.waitForSeal(id, { signal: AbortSignal.timeout(20_000) });
    expect(result.errorMessage).toMatch(/1055|1008|not authorized|authoriz/i);
  });

  // The signer does not know which index the chain gave to a key, so it signs this.
  it("a user's signature under an index that the account does not have costs neither fee nor number", async () => {
    const payload = await payloadOf();
    const [paid, number] = [await access.balance(paymaster), payload.proposalKey.sequenceNumber];
    const server = await person.client.signTransaction(hex(payloadMessage(payload)));
    const payloadSignatures = [
      { address: person.address, keyId: server.keyId, signature: server.signature },
      { ...(await sign(payload)), keyId: 77 },
    ];
    const payer = await person.client.signPaymaster(hex(envelopeMessage({ ...payload, payloadSignatures })));
    const envelopeSignatures = [{ address: paymaster, keyId: payer.keyId, signature: payer.signature }];
    const refused = await access
      .submit({ ...payload, payloadSignatures, envelopeSignatures })
      .then(async (id) => (await access.waitForSeal(id, { signal: AbortSignal.timeout(20_000) })).errorMessage, String);
    expect(refused).toMatch(/signature/i);
    expect((await access.accountKey(person.address, 1)).sequenceNumber).toBe(number);
    expect(await access.balance(paymaster)).toBe(paid);
    await sendTransaction(person.client, { network, cadence: NOTHING });
    expect(await access.balance(paymaster)).toBeLessThan(paid);
  });

  it.each<[string, () => Partial<TransactionPayload>, string]>([
    [
      "another account's",
      () => ({
        authorizers: [otherPerson.address],
        proposalKey: { address: otherPerson.address, keyId: 1, sequenceNumber: 0n },
      }),
      "NotYourAccount",
    ],
    ["two authorizers", () => ({ authorizers: [person.address, otherPerson.address] }), "MoreThanOneAuthorizer"],
    [
      "the paymaster as second authorizer",
      () => ({ authorizers: [person.address, paymaster] }),
      "MoreThanOneAuthorizer",
    ],
    [
      "a proposer of somebody else",
      () => ({ proposalKey: { address: otherPerson.address, keyId: 1, sequenceNumber: 0n } }),
      "ProposerNotYours",
    ],
    [
      "the paymaster as proposer",
      () => ({ proposalKey: { address: paymaster, keyId: 0, sequenceNumber: 0n } }),
      "ProposerNotYours",
    ],
    ["a payer of somebody else", () => ({ payer: otherPerson.address }), "UnknownPayer"],
    ["the creator as payer", () => ({ payer: creator }), "UnknownPayer"],
    ["a gas limit above the cap", () => ({ gasLimit: 10_000n }), "GasLimit"],
  ])("the authorizer refuses %s", async (_, change, reason) => {
    const message = hex(payloadMessage(await payloadOf(change())));
    expect(await problemOf(person.client.signTransaction(message))).toEqual({
      status: 403,
      error: "SigningRefused",
      reason,
    });
  });

  it("the authorizer requires a payload, the paymaster an envelope", async () => {
    const payload = await payloadOf();
    const envelope = hex(envelopeMessage({ ...payload, payloadSignatures: [await sign(payload)] }));
    expect(await problemOf(person.client.signTransaction(envelope))).toMatchObject({ reason: "WrongMessageKind" });
    expect(await problemOf(person.client.signPaymaster(hex(payloadMessage(payload))))).toMatchObject({
      reason: "WrongMessageKind",
    });
  });

  it("the paymaster refuses what the device has not signed", async () => {
    const payload = await payloadOf();
    const unsigned = hex(envelopeMessage({ ...payload, payloadSignatures: [] }));
    expect(await problemOf(person.client.signPaymaster(unsigned))).toMatchObject({
      status: 403,
      reason: "UserSignatureMissing",
    });
    const forged = hex(envelopeMessage({ ...payload, payloadSignatures: [await sign(payload, otherPerson)] }));
    expect(await problemOf(person.client.signPaymaster(forged))).toMatchObject({
      status: 403,
      reason: "UserSignatureInvalid",
    });
  });

  it("the paymaster never authorizes", async () => {
    const payload = await payloadOf({ authorizers: [paymaster] });
    const message = hex(envelopeMessage({ ...payload, payloadSignatures: [await sign(payload)] }));
    const refusal = await problemOf(person.client.signPaymaster(message));
    expect(refusal.status).toBe(403);
    expect(["PaymasterWouldAuthorize", "NotYourAccount"]).toContain(refusal.reason);
  });

  it.each([
    ["no hex", "xyz", "InvalidRequest"],
    ["no transaction", "00".repeat(40), "InvalidMessage"],
  ])("%s is 400", async (_, message, error) => {
    expect(await problemOf(person.client.signTransaction(message))).toMatchObject({ status: 400, error });
  });

  it("trailing bytes are 400", async () => {
    const message = `${hex(payloadMessage(await payloadOf()))}00`;
    expect(await problemOf(person.client.signTransaction(message))).toMatchObject({
      status: 400,
      error: "InvalidMessage",
    });
  });

  it("nobody signs without a session", async () => {
    const anonymous = newPhone().client;
    const message = hex(payloadMessage(await payloadOf()));
    expect(await problemOf(anonymous.signTransaction(message))).toMatchObject({ status: 401 });
  });

  it("the stack's description names what runs", () => {
    expect(Object.keys(stack.processes)).toEqual(
      expect.arrayContaining(["gateway", "auth", "device", "key", "account", "signer"]),
    );
  });
});
