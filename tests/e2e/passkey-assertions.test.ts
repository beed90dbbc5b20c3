import { CountersignClient, createBrowserPasskey } from "@countersign/client";
import { type Assertion, hexToBytes, parseAuthenticatorData } from "@countersign/keys";
import { describe, expect, it } from "vitest";
import { chainName, logIn, problemOf, stack } from "../support/person.ts";
import type { Misbehaviour } from "./browser.ts";
import { ada, asked, copyOn, INVALID, newChallenge, newMember, newOwner, open, respond } from "./passkey-owners.ts";

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
    const options = { rpId: "wallet.localhost", rpName: "Wallet", userName: "x", credentials: page.credentials() };
    const passkey = await createBrowserPasskey(options);
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
