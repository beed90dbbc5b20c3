import { request as httpRequest, type IncomingMessage } from "node:http";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { serveConsole } from "@countersign/admin/console/serve.ts";
import type { Services } from "@countersign/admin/services.ts";
import { sendTransaction } from "@countersign/client";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { actionsOf } from "../security/administrators.ts";
import { query } from "../security/token-forge.ts";
import { asAdmin, reason } from "../support/admin.ts";
import { network, stack } from "../support/person.ts";
import { newSigner } from "./administrator.ts";

const { person, accountId } = await newSigner();

let url: URL;
const stop = Promise.withResolvers<void>();
let served: Promise<void>;
beforeAll(async () => {
  const ready = Promise.withResolvers<string>();
  served = asAdmin(stack, "ada", async (services: Services) => {
    const running = await serveConsole(services, reason);
    ready.resolve(running.url);
    await stop.promise;
    await running.close();
  });
  served.catch(ready.reject);
  url = new URL(await ready.promise);
});
afterAll(async () => {
  stop.resolve();
  await served;
});

interface Asked {
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  body?: string;
}

async function ask({ method = "GET", path = "", headers = {}, body = "" }: Asked = {}) {
  const options = { host: "127.0.0.1", port: url.port, method, headers: { host: url.host, ...headers } };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const target = path.startsWith("/") ? path : `${url.pathname}${path}`;
    httpRequest({ ...options, path: target }, resolve)
      .on("error", reject)
      .end(body);
  });
  return { status: response.statusCode, headers: response.headers, html: await text(response) };
}

const find = (term: string) => {
  const body = new URLSearchParams({ term }).toString();
  return ask({ method: "POST", path: "find", body, headers: { "content-length": String(body.length) } });
};

describe("the console", () => {
  it("shows balances, sign-ups, refusals and budgets", async () => {
    const stolen = "transaction { prepare(a: auth(AddKey) &Account) {} }";
    // Other tests sign up and are refused on the same stack: the newest rows may be theirs already.
    const html = await vi.waitFor(
      async () => {
        const newest = await newSigner();
        const theft = sendTransaction(newest.person.client, { network, cadence: stolen });
        await expect(theft).rejects.toMatchObject({ status: 403 });
        const page = await ask();
        expect(page.status).toBe(200);
        // A section is a line; its heading is longer where it has only the newest rows.
        expect(page.html).toMatch(new RegExp(`<h2>auth: newest sign-ups\\b.*accounts/${newest.accountId}"`));
        expect(page.html).toMatch(new RegExp(`<h2>signer: refusals\\b.*accounts/${newest.accountId}"`));
        return page.html;
      },
      { timeout: 30_000 },
    );
    expect(html).toMatch(/<h2>Balances\b.*<td title="paymaster">/);
    expect(html).toMatch(/<h2>signer: budgets\b.*<td title="service">/);
    expect(html).toMatch(/<h2>Policy in effect: .*<td title="budgets/);
    expect(html).not.toContain("No answer");
  });

  it("finds an account by e-mail, and shows what every service has about it", async () => {
    const found = await find(person.email);
    expect(found).toMatchObject({ status: 303, headers: { location: `${url.pathname}accounts/${accountId}` } });
    const { html } = await ask({ path: `accounts/${accountId}` });
    for (const title of ["auth: session", "device: device", "key: registration", "account: address", "signer: binding"])
      expect(html).toContain(`<h2>${title}`);
    expect((await find("nobody@example.org")).status).toBe(404);
    expect((await find("no term at all")).status).toBe(400);
  });

  it("records each read with person and reason", async () => {
    const read = await query("signer", "SELECT person, reason FROM admin_action WHERE command = 'overview'", []);
    expect(read).toContainEqual({ person: "ada", reason });
    expect(await actionsOf("device", accountId)).toContainEqual({
      person: "ada",
      command: "describe",
      outcome: "read",
    });
  });
});

describe("nobody else", () => {
  it("reads without the secret path", async () => {
    const other = `${url.pathname.slice(0, -2)}${url.pathname.at(-2) === "0" ? "1" : "0"}/`;
    for (const path of ["/", other, "/accounts/", url.pathname.slice(0, -1), "//", "/\u00e9".repeat(20)]) {
      const { status, html } = await ask({ path: encodeURI(path) });
      expect({ status, html }).toEqual({ status: 404, html: "Not found" });
    }
  });

  it("reads by another name of this machine, or from another machine", async () => {
    for (const host of ["evil.example", `evil.example:${url.port}`, "127.0.0.1", `127.0.0.1.evil.example:${url.port}`])
      expect((await ask({ headers: { host } })).status).toBe(421);
    const addresses = Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ internal, family }) => !internal && family === "IPv4");
    for (const { address } of addresses)
      await expect(fetch(`http://${address}:${url.port}${url.pathname}`)).rejects.toThrow();
  });

  it("changes anything", async () => {
    for (const method of ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
      expect((await ask({ method, path: `accounts/${accountId}` })).status).toBe(405);
    expect((await find("x".repeat(3_000))).status).toBe(413);
    expect((await ask({ method: "POST", path: "find", headers: { "transfer-encoding": "chunked" } })).status).toBe(413);
  });

  it("runs a script by a device's name", async () => {
    const name = `<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e`;
    await query("device", "UPDATE device SET name = $2 WHERE account_id = $1", [accountId, name]);
    const { html, headers } = await ask({ path: `accounts/${accountId}` });
    expect(html).toContain("&lt;script&gt;alert(1)");
    expect(html).not.toMatch(/<script|<img|\u202e/);
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(headers).toMatchObject({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
  });
});
