import { createHash } from "node:crypto";
import {
  accountProofMessage,
  addUserKeyArguments,
  createAccessApi,
  encodeCadence,
  keyTemplateScript,
  userMessage,
} from "@countersign/flow";
import { verifySignature } from "@countersign/keys/node";
import { serviceAddress } from "@countersign/local-stack/emulator.ts";
import { UserMessagesService } from "@countersign/proto/signer/v1/user_messages.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { afterAll, describe, expect, it } from "vitest";
import { chain, stack } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, attackerPhone, type Victim } from "./attacker.ts";
import { bytes, integer, tagged, utf8 } from "./messages.ts";
import { secret } from "./secrets.ts";
import {
  ask as askToSign,
  envelope,
  fields,
  otherPerson,
  signature,
  signedRecords,
  token,
  victim,
} from "./signing-attacks.ts";
import { mintAccessToken } from "./token-forge.ts";

const access = createAccessApi({ baseUrl: chain.accessNode });
const TEXT = secret("user message", "I agree to the terms of 2026-11-20");
const APP = secret("app identifier", "https://dapp.example");
const proofOf = ({ address }: { address: string }) => ({ appIdentifier: APP, address, nonce: "75".repeat(32) });
const sha256 = (message: Uint8Array) => createHash("sha256").update(message).digest();
const hex = (message: Uint8Array) => Buffer.from(message).toString("hex");

interface Attempt {
  bearer?: string;
  address?: string;
  /** The signed bytes, and by whom; default: the message, by the victim. */
  over?: Uint8Array;
  by?: Pick<Victim, "deviceKey">;
}

/** Asks for a statement in the victim's name. */
async function ask(path: string, message: Uint8Array, body: object, { over = message, by = victim, ...rest }: Attempt) {
  const signature = hex(await by.deviceKey.sign(over));
  const { bearer = token, address = victim.address } = rest;
  return send({
    method: "POST",
    path: `/sign/v1/cadence/${path}`,
    token: bearer,
    body: { address, signature, ...body },
  });
}
const askForText = (text: Uint8Array, attempt: Attempt = {}) =>
  ask("user-message", userMessage(text), { message: hex(text) }, attempt);
const askForProof = (attempt: Attempt = {}) => {
  const statement = proofOf({ address: attempt.address ?? victim.address });
  return ask("account-proof", accountProofMessage(statement), statement, attempt);
};

/** Returns a token for the victim's account, as auth could make it, that names a phone's key. */
function tokenWithKeyOf({ deviceKey: { algorithm, publicKey } }: ReturnType<typeof attackerPhone>) {
  const own = { alg: algorithm, key: publicKey };
  return mintAccessToken(victim, { session_key: own, account_key: own });
}

/** Expects a refusal with this reason or error; nothing of these bytes was ever signed. */
async function expectRefused(answer: Awaited<ReturnType<typeof ask>>, reason: string, message: Uint8Array) {
  expectProblem(answer, [400, 401, 403], [answer.body.error]);
  expect(answer.body.reason ?? answer.body.error, answer.text).toBe(reason);
  expect(answer.body.signature).toBeUndefined();
  expect(await signedRecords(message)).toEqual([]);
}

describe.each([
  ["a text", (attempt?: Attempt) => askForText(utf8("another text"), attempt), () => userMessage(utf8("another text"))],
  ["an account proof", askForProof, (address = victim.address) => accountProofMessage(proofOf({ address }))],
] as const)("%s", (_, attempt, messageOf) => {
  it("is not signed for the thief of a token, who has no key", async () => {
    const by = attackerPhone();
    await expectRefused(await attempt({ by }), "UserSignatureInvalid", messageOf());
  });

  it("is not signed for an auth service that was broken into and names its own key in a token", async () => {
    const by = attackerPhone();
    await expectRefused(await attempt({ by, bearer: await tokenWithKeyOf(by) }), "UnregisteredKey", messageOf());
  });

  it("is not signed for it with a second key either, whose addition the first one approves", async () => {
    const [by, approver] = [attackerPhone(), attackerPhone()];
    const addition = {
      script: utf8(keyTemplateScript("add-user-key")),
      arguments: addUserKeyArguments(by.deviceKey).map(utf8),
      proposerKey: integer(0),
    };
    const approved = await envelope(addition, async (items) => [await signature(items, { by: approver.deviceKey })]);
    // The chain refuses the transaction: nobody pays, and no key is added.
    const paid = await askToSign("paymaster", approved, {}, await tokenWithKeyOf(approver));
    expect(paid.status, paid.text).toBe(200);
    await expectRefused(await attempt({ by, bearer: await tokenWithKeyOf(by) }), "UnregisteredKey", messageOf());
  });

  it("is not signed for somebody else's account: not with one's own key, nor with the owner's signature", async () => {
    const bearer = await mintAccessToken(otherPerson);
    await expectRefused(await attempt({ bearer, by: otherPerson }), "NotYourAccount", messageOf());
    const { address } = otherPerson;
    await expectRefused(await attempt({ address }), "NotYourAccount", messageOf(address));
    await expectRefused(await attempt({ bearer, address }), "UserSignatureInvalid", messageOf(address));
  });

  it("is not signed with what the device signed for another purpose", async () => {
    const others = [
      utf8("another text"),
      tagged(utf8("another text")),
      sha256(messageOf()),
      tagged(fields()),
      Buffer.alloc(16, 7),
    ];
    for (const over of others) await expectRefused(await attempt({ over }), "UserSignatureInvalid", messageOf());
  });

  it("is not signed with the token of a new device or of a recovery key", async () => {
    for (const scope of ["sign", "recover"]) {
      const bearer = await mintAccessToken(victim, { scope });
      await expectRefused(await attempt({ bearer }), "InsufficientScope", messageOf());
    }
  });
});

/** Signs with device and server; returns the signatures in the order of the key indices 1 and 0. */
async function signatures(text: string): Promise<[device: string, server: string]> {
  const answer = await askForText(utf8(text));
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body.signature).toMatchObject({ addr: `0x${victim.address}`, keyId: 0 });
  return [hex(await victim.deviceKey.sign(userMessage(utf8(text)))), answer.body.signature.signature];
}

/** Asks Flow's own contract, as an EVM contract does by ERC-1271, whether the account signed these bytes. */
const ERC_1271 = `import EVM from 0x${serviceAddress}
access(all) fun main(account: Address, data: String, device: String, server: String): Bool {
  let evm = getAccount(account).capabilities.borrow<&EVM.CadenceOwnedAccount>(/public/evm)!.address().bytes
  return EVM.validateCOAOwnershipProof(
    address: account, path: /public/evm, signedData: data.decodeHex(), keyIndices: [1, 0],
    signatures: [device.decodeHex(), server.decodeHex()], evmAddress: evm
  ).isValid
}`;

describe("a user message", () => {
  it("counts for EVM contracts as well: so the signer signs none of 32 bytes, as a hash has", async () => {
    const [device, server] = await signatures(TEXT);
    const accepted = (data: Uint8Array) =>
      access.executeScript(ERC_1271, [
        encodeCadence({ type: "Address", value: `0x${victim.address}` }),
        ...[hex(data), device, server].map((value) => encodeCadence({ type: "String", value })),
      ]);
    expect(await accepted(utf8(TEXT))).toBe(true);
    expect(await accepted(utf8("another text"))).toBe(false);

    const order = sha256(utf8("sell everything for nothing"));
    for (const digest of [order, Buffer.alloc(32, "a"), utf8(hex(order).slice(0, 32))]) {
      await expectRefused(await askForText(digest), "InvalidMessage", userMessage(digest));
    }
  });

  it("is no account proof for another app, which FCL's contract would accept as one", async () => {
    const statement = accountProofMessage(proofOf(victim)).subarray(32);
    await expectRefused(await askForText(statement), "InvalidMessage", userMessage(statement));
  });

  it("is no transaction, with or without the tag of transactions", async () => {
    const transaction = tagged(fields());
    for (const content of [transaction, transaction.subarray(32)]) {
      await expectRefused(await askForText(content), "InvalidMessage", userMessage(content));
    }
    const [, server] = await signatures(TEXT);
    const key = (await access.accountKey(victim.address, 0)).publicKey;
    const verifies = (message: Uint8Array) =>
      verifySignature({ algorithm: "ES256", publicKey: key }, message, bytes(server), "sha3-256");
    expect(verifies(userMessage(utf8(TEXT)))).toBe(true);
    expect(verifies(tagged({ raw: utf8(TEXT) }))).toBe(false);
    expect(verifies(utf8(TEXT))).toBe(false);
  });

  it("that is not the person's to read is refused", async () => {
    for (const text of ["pay \u202e0001", "hello\u0000", "x".repeat(4_097)]) {
      const answer = await askForText(utf8(text));
      expectProblem(answer, 400, text.length > 4_096 ? "InvalidRequest" : "InvalidMessage");
    }
  });

  it("leaves a record with the hash of the signed bytes, each time that it is signed", async () => {
    const text = utf8("I agree again");
    const [first, second] = [await signatures("I agree again"), await signatures("I agree again")];
    expect(await signedRecords(userMessage(text))).toHaveLength(2);
    // Sent once more, a device's signature gives nothing that its holder did not have.
    expect(first[1]).toHaveLength(second[1].length);
  });
});

describe("the signer", () => {
  const { ca, clients } = stack.tls;
  const backend = createRpcClient(UserMessagesService, {
    address: stack.processes.signer!.grpc!,
    tls: loadTls({ ca, ...clients["demo-backend"]! }),
    serverName: "signer",
    deadlineMs: 3_000,
  });
  afterAll(() => backend.close());

  it("signs messages for the gateway alone, with any token", async () => {
    const request = { userSignature: undefined, message: utf8(TEXT) };
    await expect(backend.signUserMessage(request, { token })).rejects.toMatchObject({ reason: "CallerNotAllowed" });
    const proof = { userSignature: undefined, appIdentifier: APP, nonce: Buffer.alloc(32) };
    await expect(backend.signAccountProof(proof, { token })).rejects.toMatchObject({ reason: "CallerNotAllowed" });
  });
});

afterwards();
