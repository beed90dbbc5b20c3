import {
  type BrowserPasskey,
  browserPasskey,
  CountersignClient,
  createBrowserPasskey,
  type Passkey,
  type SignedIn,
} from "@countersign/client";
import type { Assertion } from "@countersign/keys";
import { signUp } from "@countersign/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { chainName, logIn, newEmail, stack } from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { type BrowserPage, openBrowser, openPage } from "./browser.ts";

export const rpId = "localhost";
export const attributes = { name: "Browser", type: "browser" } as const;

/** A person with a passkey in a browser of their own. */
interface Owner {
  page: BrowserPage;
  passkey: BrowserPasskey;
  client: CountersignClient;
  email: string;
}

export interface Member extends Owner {
  signedUp: SignedIn;
  address: string;
}

export let browser: Browser;
const pages: BrowserPage[] = [];
export const open = async (origin = stack.gateway): Promise<BrowserPage> => {
  const page = await openPage(browser, origin);
  pages.push(page);
  return page;
};

export async function newOwner(email = newEmail()): Promise<Owner> {
  const page = await open();
  const options = { rpId, rpName: "Wallet", userName: email, credentials: page.credentials() };
  const passkey = await createBrowserPasskey(options);
  return { page, passkey, email, client: new CountersignClient({ baseUrl: stack.gateway, deviceKey: passkey }) };
}

export async function newMember(): Promise<Member> {
  const owner = await newOwner();
  return signUp(stack, owner, await logIn(owner.email), attributes);
}

export let ada: Member;
beforeAll(async () => {
  browser = await openBrowser();
  ada = await newMember();
});
afterAll(async () => {
  await Promise.all(pages.map((page) => page.close()));
  await browser?.close();
});

export const newChallenge = async ({ client, email }: Owner, username?: string): Promise<string> => {
  const login = await logIn(email);
  const { challengeData } = await client.requestChallenge({
    login,
    chainName,
    ...(username !== undefined && { username }),
  });
  return challengeData;
};

/** Responds to a challenge with any assertion. */
export const respond = (challengeData: string, { clientDataJSON, authenticatorData, signature }: Assertion) =>
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

export const INVALID = { status: 401, body: { error: "InvalidSignature" } };

/** Returns the same passkey, asked on another page or in another way. */
export const asked = ({ passkey }: Owner, page: BrowserPage, changes: object = {}): Passkey =>
  browserPasskey({ ...passkey, credentials: page.credentials(changes) });

/** Returns a page with a copy of a passkey in its authenticator. */
export async function copyOn(owner: Owner, origin: string, change: { signCount?: number } = {}): Promise<BrowserPage> {
  const page = await open(origin);
  await page.importCredential({ ...(await owner.page.exportCredential()), ...change });
  return page;
}
