import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CookieJar } from "./cookie-jar.ts";
import { exchangeCode, loginAtDevelopmentProvider } from "./development-login.ts";
import { parseForm } from "./html-form.ts";

const redirectUri = "http://localhost:8080/callback";

describe("loginAtDevelopmentProvider", () => {
  let provider: Server;
  let issuer: string;
  const forms: string[] = [];
  const maxAges: (string | null)[] = [];

  beforeAll(async () => {
    provider = createServer(async (request, response) => {
      const url = new URL(request.url!, issuer);
      let body = "";
      for await (const chunk of request) body += chunk;
      if (body) forms.push(body);
      const page = (form: string) => response.setHeader("content-type", "text/html").end(`<html>${form}</html>`);
      const redirect = (location: string, cookie?: string) =>
        response.writeHead(303, { location, ...(cookie && { "set-cookie": cookie }) }).end();
      const step = `${request.method} ${url.pathname}`;
      if (url.searchParams.get("client_id") === "unknown") {
        response.writeHead(400).end(`<p class="error" role="alert">invalid_client: client&#39;s name is unknown</p>`);
      } else if (step === "GET /.well-known/openid-configuration") {
        response.end(JSON.stringify({ authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` }));
      } else if (step === "GET /auth") {
        maxAges.push(url.searchParams.get("max_age"));
        redirect("/interaction/1", `state=${url.searchParams.get("state")}; path=/auth/1`);
      } else if (step === "GET /interaction/1") {
        page(
          `<form method="post" action="/interaction/1/login"><input name="email" type="text"><button>Go</button></form>`,
        );
      } else if (step === "POST /interaction/1/login") {
        page(
          `<form method='post' action='/interaction/1/confirm'><input type=hidden name=a value="&lt;&amp;&#x3e;"></form>`,
        );
      } else if (step === "POST /interaction/1/confirm") redirect("/auth/1");
      else if (step === "GET /auth/1") {
        redirect(`${redirectUri}?code=the-code&${(request.headers.cookie ?? "").split("; ")[0]}`);
      } else if (step === "POST /token")
        response.end(JSON.stringify({ id_token: "the-id-token", access_token: "the-token" }));
      else response.writeHead(404).end();
    });
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
    issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  });
  afterAll(() => void provider.close());

  it("fills in the forms and brings back the code", async () => {
    const code = await loginAtDevelopmentProvider({ issuer, clientId: "demo", redirectUri, email: "ada@example.com" });
    expect(code).toMatchObject({ code: "the-code", clientId: "demo", redirectUri });
    expect(code.codeVerifier).toMatch(/^[\w-]{43}$/);
    expect(forms).toEqual(["email=ada%40example.com", "a=%3C%26%3E"]);
    expect(await exchangeCode(issuer, code)).toEqual({ idToken: "the-id-token", accessToken: "the-token" });
  });

  it("says why the provider refuses, as its page does", async () => {
    const login = loginAtDevelopmentProvider({ issuer, clientId: "unknown", redirectUri, email: "ada@example.com" });
    await expect(login).rejects.toThrow("the provider refused the login: invalid_client: client's name is unknown");
  });

  it("asks for a fresh login, of another age or of any age", async () => {
    maxAges.length = 0;
    const options = { issuer, clientId: "demo", redirectUri, email: "ada@example.com" };
    await loginAtDevelopmentProvider(options);
    await loginAtDevelopmentProvider({ ...options, maxAge: 0 });
    await loginAtDevelopmentProvider({ ...options, maxAge: null });
    expect(maxAges).toEqual(["300", "0", null]);
  });
});

describe("CookieJar", () => {
  it("keeps cookies apart by host and path, and removes them", () => {
    const jar = new CookieJar();
    const url = new URL("http://a.test/x");
    jar.store(
      url,
      new Headers([
        ["set-cookie", "one=1; path=/x"],
        ["set-cookie", "two=2"],
      ]),
    );
    expect(jar.header(new URL("http://a.test/x/y"))).toBe("one=1; two=2");
    expect(jar.header(new URL("http://a.test/xy"))).toBe("two=2");
    expect(jar.header(new URL("http://b.test/x"))).toBe("");
    jar.store(url, new Headers([["set-cookie", "two=; expires=Thu, 01 Jan 1970 00:00:00 GMT"]]));
    expect(jar.header(new URL("http://a.test/"))).toBe("");
  });
});

describe("parseForm", () => {
  it("finds no form where there is none", () => {
    expect(parseForm("<p>Sorry</p>")).toBeUndefined();
  });
});
