import { sendTransaction, signTransaction } from "@countersign/client";
import { envelopeMessage, passkeySignature, payloadMessage, type TransactionPayload } from "@countersign/flow";
import { type Assertion, bytesToBase64url, bytesToHex, challengeOf, hexToBytes } from "@countersign/keys";
import { describe, expect, it } from "vitest";
import {
  access,
  chain,
  chainName,
  logIn,
  NOTHING,
  network,
  newPhone,
  problemOf,
  signUpPerson,
} from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import {
  ada,
  asked,
  attributes,
  copyOn,
  INVALID,
  type Member,
  newChallenge,
  newOwner,
  respond,
} from "./passkey-owners.ts";

async function nothing({ address }: Member, keyId = 1): Promise<TransactionPayload> {
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, keyId)]);
  return {
    script: NOTHING,
    arguments: [],
    referenceBlockId: block.id,
    gasLimit: 100n,
    proposalKey: { address, keyId, sequenceNumber: key.sequenceNumber },
    payer: chain.paymaster.slice(2),
    authorizers: [address],
  };
}

const seal = (id: string) => access.waitForSeal(id, { signal: AbortSignal.timeout(30_000) });
describe("a passkey of a real browser", () => {
  it("signs up: it is the account's first user key, of P-256 and SHA2-256, with weight 1", async () => {
    const { publicKey } = ada.passkey;
    expect(await ada.client.keys()).toMatchObject([
      {
        publicKey,
        algorithm: "ES256",
        type: "user-key",
        userKey: { type: "passkey", device: { publicKey, ...attributes } },
      },
    ]);
    expect(await access.accountKey(ada.address, 1)).toMatchObject({
      publicKey,
      signatureAlgorithm: "ECDSA_P256",
      hashAlgorithm: "SHA2_256",
      weight: 1,
      revoked: false,
    });
  });

  it("signs in by its key, and by the login's e-mail; and signs a sponsored transaction that is sealed", async () => {
    await ada.client.signOut();
    const again = await ada.client.signIn({ login: await logIn(ada.email), chainName });
    expect(again).toMatchObject({ account: { id: ada.signedUp.account.id }, transaction: ada.signedUp.transaction });
    const byName = await ada.client.signIn({ login: await logIn(ada.email), chainName, username: ada.email });
    expect(byName.account.id).toBe(ada.signedUp.account.id);

    const sent = await sendTransaction(ada.client, { network, cadence: NOTHING });
    expect(sent.result).toMatchObject({ status: "Sealed", statusCode: 0, errorMessage: "" });
  });

  it("is enrolled by a phone, and then signs in and signs", async () => {
    const phone = await signUpPerson();
    const { client, passkey } = await newOwner(phone.email);
    const newDevice = await client.requestTwoFactor({ login: await logIn(phone.email), chainName, device: attributes });
    await phone.client.approveTwoFactor(newDevice.twoFactorAuth.id, {
      matchingCode: client.matchingCode(),
    });
    const enrolled = await client.waitForTwoFactor(newDevice);
    expect(enrolled.account.id).toBe(phone.signedUp.account.id);
    const key = (await client.keys()).find(({ publicKey }) => publicKey === passkey.publicKey)!;
    expect(key.userKey?.type).toBe("passkey");
    expect(await access.accountKey(phone.address, key.keyIndex)).toMatchObject({
      publicKey: passkey.publicKey,
      hashAlgorithm: "SHA2_256",
      weight: 1,
    });
    await client.signOut();
    await client.signIn({ login: await logIn(phone.email), chainName, username: phone.email });
    expect((await sendTransaction(client, { network, cadence: NOTHING })).result.errorMessage).toBe("");
  });

  it("enrolls a phone with its assertion", async () => {
    const phone = newPhone();
    const newDevice = await phone.client.requestTwoFactor({ login: await logIn(ada.email), chainName });
    await ada.client.approveTwoFactor(newDevice.twoFactorAuth.id, {
      matchingCode: phone.client.matchingCode(),
    });
    expect((await phone.client.waitForTwoFactor(newDevice)).account.id).toBe(ada.signedUp.account.id);
    expect((await sendTransaction(phone.client, { network, cadence: NOTHING })).result.errorMessage).toBe("");
  });
});

describe("signing in and signing transactions", () => {
  it("cannot be used for each other", async () => {
    await ada.client.signIn({ login: await logIn(ada.email), chainName });
    const token = ada.client.credentials!.accessToken;
    const payload = await nothing(ada);
    const message = payloadMessage(payload);
    const data = await newChallenge(ada);

    // An assertion over a transaction is refused at sign-in: its challenge is a digest of 32 bytes, and the
    // challenge of a sign-in has 16 bytes.
    const ofTransaction = await ada.passkey.assert(challengeOf({ transaction: message }));
    expect(data).toMatch(/^[0-9a-f]{32}$/);
    expect(await respond(data, ofTransaction)).toMatchObject(INVALID);
    const digest = bytesToHex(challengeOf({ transaction: message }));
    for (const asChallenge of [digest, digest.slice(0, 32)]) {
      expect(await respond(asChallenge, ofTransaction)).toMatchObject({
        status: 400,
        body: { error: "UnknownChallenge" },
      });
    }

    // The answer to a login signs no transaction: neither the paymaster nor the chain takes it.
    const ofLogin = await ada.passkey.assert(hexToBytes(data));
    const own = { address: ada.address, keyId: 1 };
    const forged = { ...payload, payloadSignatures: [{ ...own, ...passkeySignature(ofLogin) }] };
    expect(await problemOf(ada.client.signPaymaster(bytesToHex(envelopeMessage(forged))))).toMatchObject({
      status: 403,
      error: "SigningRefused",
      reason: "UserSignatureInvalid",
    });
    const right = await signTransaction(ada.client, payload, chainName);
    const payloadSignatures = right.payloadSignatures.map((entry) =>
      entry.keyId === 1 ? { ...own, ...passkeySignature(ofLogin) } : entry,
    );
    const id = await access.submit({ ...right, payloadSignatures }).catch((error: Error) => error);
    if (typeof id === "string") expect((await seal(id)).errorMessage).not.toBe("");

    // It does not enroll a device either.
    const phone = newPhone();
    const { twoFactorAuth } = await phone.client.requestTwoFactor({ login: await logIn(ada.email), chainName });
    const { signature, clientDataJSON, authenticatorData } = ofLogin;
    const approval = await call("POST", `/device/v1/2fa/${twoFactorAuth.request.id}/approve`, {
      token,
      body: {
        signature: bytesToHex(signature),
        clientDataJSON: bytesToBase64url(clientDataJSON),
        authenticatorData: bytesToBase64url(authenticatorData),
      },
    });
    expect(approval).toMatchObject(INVALID);
    await ada.client.rejectTwoFactor(twoFactorAuth.id);

    // Both are good where they belong.
    expect((await respond(data, ofLogin)).status).toBe(200);
    expect((await seal(await access.submit(right))).errorMessage).toBe("");
  });

  it("asks as much of a transaction's assertion as of a login's", async () => {
    await ada.client.signIn({ login: await logIn(ada.email), chainName });
    const payload = await nothing(ada);
    const challenge = challengeOf({ transaction: payloadMessage(payload) });
    const paid = (assertion: Assertion) => {
      const payloadSignatures = [{ address: ada.address, keyId: 1, ...passkeySignature(assertion) }];
      return ada.client.signPaymaster(bytesToHex(envelopeMessage({ ...payload, payloadSignatures })));
    };
    const refused = { status: 403, error: "SigningRefused", reason: "UserSignatureInvalid" };
    const elsewhere = await copyOn(ada, "http://localhost:1234");
    expect(await problemOf(paid(await asked(ada, elsewhere).assert(challenge)))).toMatchObject(refused);
    expect(await problemOf(paid(await (await newOwner()).passkey.assert(challenge)))).toMatchObject(refused);
    await ada.page.verifyUser(false);
    const unverified = await asked(ada, ada.page, { userVerification: "discouraged" }).assert(challenge);
    await ada.page.verifyUser(true);
    expect(await problemOf(paid(unverified))).toMatchObject(refused);
    expect(await paid(await ada.passkey.assert(challenge))).toMatchObject({ addr: chain.paymaster });
  });
});
