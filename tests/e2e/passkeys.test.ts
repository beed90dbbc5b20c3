import {
  type BrowserPasskey,
  browserPasskey,
  CountersignClient,
  createBrowserPasskey,
  type Passkey,
  type SignedIn,
  sendTransaction,
  signTransaction,
} from "@countersign/client";
import {
  createAccessApi,
  envelopeMessage,
  passkeySignature,
  payloadMessage,
  type TransactionPayload,
} from "@countersign/flow";
import {
  type Assertion,
  bytesToBase64url,
  bytesToHex,
  challengeOf,
  hexToBytes,
  parseAuthenticatorData,
} from "@countersign/keys";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type BrowserPage, type Misbehaviour, openBrowser, openPage } from "./browser.ts";
import { call, chain, chainName, logIn, newEmail, newPhone, problemOf, signUpPerson, stack } from "./person.ts";

const access = createAccessApi({ baseUrl: chain.accessNode });
const network = { chainName, accessNode: chain.accessNode, paymaster: chain.paymaster };
const NOTHING = "transaction { prepare(a: &Account) {} }";
const rpId = "localhost";
const attributes = { name: "Browser", type: "browser" } as const;

/** Somebody who has a passkey in a browser of their own. */
interface Owner {
  page: BrowserPage;
  passkey: BrowserPasskey;
  client: CountersignClient;
  email: string;
}

interface Member extends Owner {
  signedUp: SignedIn;
  address: string;
}

let browser: Browser;
const pages: BrowserPage[] = [];
const open = async (origin = stack.gateway): Promise<BrowserPage> => {
  const page = await openPage(browser, origin);
  pages.push(page);
  return page;
};

async function newOwner(email = newEmail()): Promise<Owner> {
  const page = await open();
  const wish = { rpId, rpName: "Wallet", userName: email, credentials: page.credentials() };
  const passkey = await createBrowserPasskey(wish);
  return { page, passkey, email, client: new CountersignClient({ baseUrl: stack.gateway, deviceKey: passkey }) };
}

async function newMember(): Promise<Member> {
  const owner = await newOwner();
  const signedUp = await owner.client.signUp({ login: await logIn(owner.email), chainName, device: attributes });
  const address = signedUp.account.addresses.find(({ chainType }) => chainType === "cadence")!.address.slice(2);
  return { ...owner, signedUp, address };
}

let ada: Member;
beforeAll(async () => {
  browser = await openBrowser();
  ada = await newMember();
});
afterAll(async () => {
  await Promise.all(pages.map((page) => page.close()));
  await browser?.close();
});

const newChallenge = async ({ client, email }: Owner, username?: string): Promise<string> => {
  const login = await logIn(email);
  const { challengeData } = await client.requestChallenge({
    login,
    chainName,
    ...(username !== undefined && { username }),
  });
  return challengeData;
};

/** An answer of whatever somebody asserted. */
const respond = (challengeData: string, { clientDataJSON, authenticatorData, signature }: Assertion) =>
  call("POST", "/auth/v1/signin/challenge/respond", {
    body: {
      challengeType: "passKey",
      challengeData,
      passKey: {
        clientDataJSON: Buffer.from(clientDataJSON).toString(),
        authenticatorData: Buffer.from(authenticatorData).toString("base64"),
        signature: Buffer.from(signature).toString("base64"),
      },
    },
  });

const INVALID = { status: 401, body: { error: "InvalidSignature" } };

/** The same passkey, asked on another page or in another way. */
const asked = ({ passkey }: Owner, page: BrowserPage, changes: object = {}): Passkey =>
  browserPasskey({ ...passkey, credentials: page.credentials(changes) });

/** A page with a copy of a passkey in its authenticator. */
async function copyOn(owner: Owner, origin: string, change: { signCount?: number } = {}): Promise<BrowserPage> {
  const page = await open(origin);
  await page.importCredential({ ...(await owner.page.exportCredential()), ...change });
  return page;
}

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

  it("is let in by a phone, and then signs in and signs", async () => {
    const phone = await signUpPerson();
    const { client, passkey } = await newOwner(phone.email);
    const newcomer = await client.requestTwoFactor({ login: await logIn(phone.email), chainName, device: attributes });
    await phone.client.approveTwoFactor(newcomer.twoFactorAuth.id, { matchingCode: client.matchingCode });
    const letIn = await client.waitForTwoFactor(newcomer);
    expect(letIn.account.id).toBe(phone.signedUp.account.id);
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

  it("lets a phone in with its assertion", async () => {
    const phone = newPhone();
    const newcomer = await phone.client.requestTwoFactor({ login: await logIn(ada.email), chainName });
    await ada.client.approveTwoFactor(newcomer.twoFactorAuth.id, { matchingCode: phone.client.matchingCode });
    expect((await phone.client.waitForTwoFactor(newcomer)).account.id).toBe(ada.signedUp.account.id);
    expect((await sendTransaction(phone.client, { network, cadence: NOTHING })).result.errorMessage).toBe("");
  });
});

describe("an assertion of a real browser does not sign in", () => {
  const refuse = async (make: (challenge: Uint8Array) => Promise<Assertion>, username?: string) => {
    const data = await newChallenge(ada, username);
    const answer = await respond(data, await make(hexToBytes(data)));
    expect(answer).toMatchObject(INVALID);
    return data;
  };

  it("from another origin", async () => {
    const page = await copyOn(ada, "http://localhost:1234");
    for (const username of [undefined, ada.email]) {
      await refuse((challenge) => asked(ada, page).assert(challenge), username);
    }
  });

  it("for another RP id", async () => {
    const page = await open("http://wallet.localhost:1234");
    const wish = { rpId: "wallet.localhost", rpName: "Wallet", userName: "x", credentials: page.credentials() };
    const passkey = await createBrowserPasskey(wish);
    await refuse((challenge) => passkey.assert(challenge), ada.email);
  });

  it("where the person was not verified", async () => {
    await ada.page.verifyUser(false);
    try {
      await refuse(async (challenge) => {
        const assertion = await asked(ada, ada.page, { userVerification: "discouraged" }).assert(challenge);
        expect(parseAuthenticatorData(assertion.authenticatorData)).toMatchObject({
          userPresent: true,
          userVerified: false,
        });
        return assertion;
      });
    } finally {
      await ada.page.verifyUser(true);
    }
  });

  it.each<[string, Misbehaviour, { userPresent?: boolean; userVerified?: boolean }]>([
    ["nobody present", { isBadUP: true }, { userPresent: false }],
    ["nobody verified", { isBadUV: true }, { userVerified: false }],
    ["a bogus signature", { isBogusSignature: true }, { userPresent: true, userVerified: true }],
  ])("of an authenticator that has %s", async (_, how, flags) => {
    await ada.page.misbehave(how);
    try {
      await refuse(async (challenge) => {
        // Where the person is to be verified, the browser keeps an answer to itself that says otherwise.
        const options = how.isBogusSignature ? {} : { userVerification: "discouraged" };
        const assertion = await asked(ada, ada.page, options).assert(challenge);
        expect(parseAuthenticatorData(assertion.authenticatorData)).toMatchObject(flags);
        return assertion;
      });
    } finally {
      await ada.page.misbehave({});
    }
  });

  it("of another credential, by key or by name", async () => {
    const other = await newOwner();
    await refuse((challenge) => other.passkey.assert(challenge));
    await refuse((challenge) => other.passkey.assert(challenge), ada.email);
    // That of another account's member either.
    const bob = await newMember();
    await refuse((challenge) => bob.passkey.assert(challenge), ada.email);
  });

  it("twice, nor to another challenge", async () => {
    const data = await newChallenge(ada);
    const assertion = await ada.passkey.assert(hexToBytes(data));
    const first = await respond(data, assertion);
    expect(first.status).toBe(200);
    expect(await respond(data, assertion)).toMatchObject({ status: 400, body: { error: "UnknownChallenge" } });
    expect(await respond(await newChallenge(ada), assertion)).toMatchObject(INVALID);
  });

  it("of a copy whose counter is behind, whichever way it is asked", async () => {
    const bob = await newMember();
    const login = async (username?: string) => ({
      login: await logIn(bob.email),
      chainName,
      ...(username && { username }),
    });
    await bob.client.signIn(await login());
    const { signCount } = await bob.page.exportCredential();
    expect(signCount).toBeGreaterThan(0);
    const behind = await copyOn(bob, stack.gateway, { signCount: signCount - 1 });
    const thief = new CountersignClient({ baseUrl: stack.gateway, deviceKey: asked(bob, behind) });
    expect(await problemOf(thief.signIn(await login()))).toMatchObject({ status: 401, error: "InvalidSignature" });
    // The copy has counted on by now, and gets in: from then on the owner's own stands out.
    await thief.signIn(await login(bob.email));
    expect(await problemOf(bob.client.signIn(await login()))).toMatchObject({ status: 401, error: "InvalidSignature" });
  });

  it("with base64url text or JSON text of the same bytes, and no others", async () => {
    const data = await newChallenge(ada);
    const assertion = await ada.passkey.assert(hexToBytes(data));
    const text = Buffer.from(assertion.clientDataJSON).toString();
    for (const forged of [` ${text}`, `${text} `, text.replace(/}$/, ',"challenge":"x"}'), text.replaceAll('"', "'")]) {
      expect(await respond(data, { ...assertion, clientDataJSON: Buffer.from(forged) })).toMatchObject(INVALID);
    }
    expect((await respond(data, assertion)).status).toBe(200);
  });
});

const seal = (id: string) => access.waitForSeal(id, { signal: AbortSignal.timeout(30_000) });

describe("signing in and signing transactions", () => {
  it("cannot be passed off as each other", async () => {
    await ada.client.signIn({ login: await logIn(ada.email), chainName });
    const token = ada.client.credentials!.accessToken;
    const payload = await nothing(ada);
    const message = payloadMessage(payload);
    const data = await newChallenge(ada);

    // What signs a transaction signs nobody in: its challenge is a digest of 32 bytes, a login's are 16 bytes of ours.
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

    // What signs somebody in signs no transaction: neither the paymaster nor the chain takes it.
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

    // Nor does it let a device in.
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
