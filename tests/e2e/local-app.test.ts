import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { CountersignClient, createBrowserPasskey, sendTransaction } from "@countersign/client";
import { describeApp, localApps } from "@countersign/local-stack/local-apps.ts";
import { TEST_APP } from "@countersign/local-stack/testing/test-app.ts";
import { loginAtDevelopmentProvider } from "@countersign/testing";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chainName, NOTHING, network, newEmail, stack } from "../support/person.ts";
import { send } from "../support/raw-request.ts";
import { openBrowser, openPage } from "./browser.ts";

const app = { ...localApps([TEST_APP])[0]!, origin: TEST_APP };
const NEIGHBOUR = "http://localhost:5174";
const { issuer } = stack.identityProvider;

let browser: Browser;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());

const logIn = async (redirectUri: string, email: string, nonce: string) => {
  const { code, codeVerifier } = await loginAtDevelopmentProvider({
    issuer,
    clientId: app.clientId,
    redirectUri,
    email,
    nonce,
  });
  return { method: "redirect_code_channel", token: code, codeVerifier, redirectUri } as const;
};

it("docs/apps.md shows the command for this app, and its output", () => {
  const page = readFileSync(join(root, "docs/apps.md"), "utf8");
  expect(page).toContain(`npm start -- --app ${app.origin}\n`);
  expect(page).toContain(describeApp(app).replaceAll(/^/gm, "  "));
});

describe("an app that `npm start -- --app` registered", () => {
  it("may call the gateway from its origin, and its neighbour may not", async () => {
    const preflight = (origin: string) =>
      send({
        method: "OPTIONS",
        path: "/auth/v1/signup",
        headers: { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" },
      });
    const allowed = await preflight(app.origin);
    expect(allowed.status).toBe(204);
    expect(allowed.headers["access-control-allow-origin"]).toBe(app.origin);
    expect((await preflight(NEIGHBOUR)).headers["access-control-allow-origin"]).toBeUndefined();
  });

  it("is read by a browser as it should be", async () => {
    const fetched = async (origin: string) => {
      // Chromium asks the person before a page that no server on this machine sent may call one.
      const context = await browser.newContext({ permissions: ["local-network-access"] });
      const page = await context.newPage();
      await page.route(`${origin}/**`, (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
      await page.goto(`${origin}/`);
      const status = await page.evaluate(
        (url) => fetch(url, { headers: { authorization: "Bearer none" } }).then((answer) => answer.status, String),
        `${stack.gateway}/account/v1/me`,
      );
      await context.close();
      return status;
    };
    expect(await fetched(app.origin)).toBe(401);
    expect(await fetched(NEIGHBOUR)).toContain("Failed to fetch");
  });

  it("signs people up with its client and a passkey of its page, and they sign in and send transactions", async () => {
    const page = await openPage(browser, app.origin);
    try {
      const email = newEmail();
      const options = { rpId: "localhost", rpName: "My app", userName: email, credentials: page.credentials() };
      const deviceKey = await createBrowserPasskey(options);
      const client = new CountersignClient({ baseUrl: stack.gateway, deviceKey });
      const [home, callback] = app.redirectUris as [string, string];
      const { account } = await client.signUp({ login: await logIn(home, email, client.loginNonce), chainName });
      const again = await client.signIn({ login: await logIn(callback, email, client.loginNonce), chainName });
      expect(again.account.id).toBe(account.id);
      const sessions = await client.sessions();
      expect(sessions.map((session) => session.app)).toContainEqual({ appId: app.clientId, appName: app.origin });
      expect((await sendTransaction(client, { network, cadence: NOTHING })).result.status).toBe("Sealed");
    } finally {
      await page.close();
    }
  });

  it("has its own redirect URIs and no others", async () => {
    await expect(logIn(`${NEIGHBOUR}/callback`, newEmail(), "nonce")).rejects.toThrow("invalid_redirect_uri");
  });
});
