import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { AppError, REASONS, type Reason } from "@countersign/core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { GOOD_REQUESTS } from "../testing/samples.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

/** Origins of web views: Capacitor and Ionic on iOS, Tauri on macOS and on Windows. */
const APP_ORIGINS = ["capacitor://localhost", "ionic://localhost", "tauri://localhost", "https://tauri.localhost"];

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ allowedOrigins: ["https://app.example.com"], trustedProxies: ["127.0.0.1"] });
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.calls.length = 0;
  gateway.samples.length = 0;
});

const me = (headers: Record<string, string> = {}) => gateway.send("GET", "/account/v1/me", { token: "full", headers });

describe("every answer", () => {
  it("carries the request id, its own or the client's", async () => {
    expect((await me({ "x-request-id": "mine-12345" })).headers.get("x-request-id")).toBe("mine-12345");
    expect((await me({ "x-request-id": "not sane" })).headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("is counted by its route's pattern", async () => {
    await gateway.send("DELETE", GOOD_REQUESTS.endSession!.path!, { token: "full" });
    await gateway.send("GET", "/nowhere");
    await expect
      .poll(() => gateway.samples)
      .toEqual([
        { method: "DELETE", route: "/auth/v1/sessions/{id}", status: 204 },
        { method: "GET", route: "none", status: 404 },
      ]);
  });

  it("has the same headers for browsers and caches, and says nothing about the server", async () => {
    const preflight = { origin: "https://app.example.com", "access-control-request-method": "POST" };
    const answers = [
      await me(),
      await gateway.send("DELETE", GOOD_REQUESTS.endSession!.path!, { token: "full" }),
      await gateway.send("HEAD", "/device/v1/events", { token: "full" }),
      await gateway.send("GET", "/"),
      await gateway.send("OPTIONS", "/auth/v1/signup", { headers: preflight }),
      await gateway.send("GET", "/nowhere"),
      await gateway.send("PATCH", "/account/v1/me"),
      await gateway.send("GET", "/account/v1/me"),
      await gateway.send("POST", "/auth/v1/token/refresh", { body: "{" }),
      await gateway.send("POST", "/auth/v1/token/refresh", { body: "x".repeat(70_000) }),
      await gateway.send("GET", "/chain/v1/nowhere/blocks", { token: "full" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 204, 200, 200, 204, 404, 405, 401, 400, 413, 404]);
    for (const { status, headers } of answers) {
      expect(Object.fromEntries(headers), String(status)).toMatchObject({
        "cache-control": "no-store",
        "content-security-policy": "default-src 'none';frame-ancestors 'none'",
        "cross-origin-resource-policy": "cross-origin",
        "referrer-policy": "no-referrer",
        "strict-transport-security": "max-age=31536000; includeSubDomains",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "x-request-id": expect.any(String),
      });
      expect(headers.has("x-powered-by")).toBe(false);
    }
  });
});

describe("a path", () => {
  it("answers alike with and without a slash at its end", async () => {
    const paths = [...new Set(gateway.routes.filter(({ events }) => !events).map(({ path }) => path))];
    for (const path of paths.filter((each) => !each.includes("{"))) {
      for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
        const [named, matched] = [
          await gateway.send(method, path, { token: "full" }),
          await gateway.send(method, `${path}/`, { token: "full" }),
        ];
        const seen = ({ status, headers, json }: typeof named) => ({
          status,
          allow: headers.get("allow"),
          error: json.error,
        });
        expect(seen(named), `${method} ${path}`).toEqual(seen(matched));
      }
    }
    await expect.poll(() => gateway.samples.length).toBeGreaterThan(paths.length);
    expect(gateway.samples.filter(({ route }) => !paths.includes(route))).toEqual([]);
  }, 20_000);

  it("with a parameter matches any text, and paths are case-sensitive", async () => {
    const braces = await gateway.send("DELETE", "/auth/v1/sessions/{id}", { token: "full" });
    const text = await gateway.send("DELETE", "/auth/v1/sessions/id", { token: "full" });
    expect(braces.json.errors).toEqual(text.json.errors);
    expect((await gateway.send("GET", "/account/v1/ME", { token: "full" })).status).toBe(404);
    expect((await gateway.send("GET", "/constructor")).status).toBe(404);
  });
});

describe("problems", () => {
  it("are problem documents", async () => {
    const answer = await gateway.send("GET", "/nowhere", { headers: { "x-request-id": "request-43" } });
    expect(answer.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
    expect(answer).toMatchObject({
      status: 404,
      json: {
        type: "urn:countersign:error:RouteNotFound",
        title: "No such path",
        status: 404,
        detail: "No such path: /nowhere",
        instance: "request-43",
        error: "RouteNotFound",
      },
    });
  });

  it("name at most 200 characters of a path that is not there, without its query", async () => {
    const { json } = await gateway.send("GET", `/${"a".repeat(300)}?token=secret`);
    expect(json.detail).toBe(`No such path: /${"a".repeat(199)}`);
  });

  it("lead to their entry in the catalogue of errors where the operator serves it", async () => {
    const errorPage = "https://docs.example.com/errors";
    const withPage = await startTestGateway({ errorPage });
    const { json } = await withPage.send("GET", "/nowhere");
    expect(json.type).toBe(`${errorPage}#routenotfound`);
    const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
    expect(page.toLowerCase()).toContain("\n### routenotfound\n");
    await withPage.stop();
  });

  it("carry Retry-After, always where there are too many requests", async () => {
    gateway.fail(new AppError("RateLimited", { retryAfterSeconds: 12.3 }));
    expect((await me()).headers.get("retry-after")).toBe("13");
    gateway.fail(new AppError("RateLimited"));
    expect((await me()).headers.get("retry-after")).toBe("1");
  });

  it("name the rule of a refused signature", async () => {
    gateway.fail(new AppError("SigningRefused", { metadata: { reason: "GasLimit" } }));
    const answer = await gateway.send("POST", "/sign/v1/cadence/transaction", {
      token: "sign",
      body: { message: "00" },
    });
    expect(answer).toMatchObject({ status: 403, json: { error: "SigningRefused", reason: "GasLimit" } });
  });

  it("send WWW-Authenticate only where the access token was the problem", async () => {
    const about = (reason: Reason) => {
      gateway.fail(new AppError(reason));
      return me().then(({ headers }) => headers.get("www-authenticate"));
    };
    const unauthenticated = Object.entries(REASONS).filter(([, { http }]) => http === 401);
    const ofTokens: string[] = ["InvalidAccessToken", "AccessTokenExpired", "SessionEnded"];
    for (const [reason, { title }] of unauthenticated) {
      const invalid = `Bearer realm="countersign", error="invalid_token", error_description="${title}"`;
      const expected = reason === "Unauthenticated" ? 'Bearer realm="countersign"' : null;
      expect(await about(reason as Reason), reason).toBe(ofTokens.includes(reason) ? invalid : expected);
    }
    gateway.fail(new AppError("SessionEnded"));
    const refresh = await gateway.send("POST", "/auth/v1/token/refresh", GOOD_REQUESTS.refreshToken!);
    expect(refresh).toMatchObject({ status: 401, json: { error: "SessionEnded" } });
    expect(refresh.headers.has("www-authenticate")).toBe(false);
  });

  it("hide what nobody foresaw", async () => {
    gateway.fail(new Error("postgres://secret"));
    const answer = await me();
    expect(answer).toMatchObject({ status: 500, json: { error: "Internal" } });
    expect(answer.text).not.toContain("secret");
  });

  it("reach clients that are still sending", async () => {
    for (let attempt = 0; attempt < 3; attempt++) {
      const answer = await gateway.send("POST", "/auth/v1/token/refresh", { body: "x".repeat(5_000_000) });
      expect(answer).toMatchObject({ status: 413, json: { error: "PayloadTooLarge" } });
    }
  });

  it("refuse a body in chunks that is too large, while it is still being sent", async () => {
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(
      "POST /auth/v1/token/refresh HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" +
        "Transfer-Encoding: chunked\r\n\r\n",
    );
    for (let chunk = 0; chunk < 17; chunk++) socket.write(`1000\r\n${"x".repeat(4_096)}\r\n`);
    const text = await new Promise<string>((resolve) => socket.once("data", (data) => resolve(String(data))));
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  it("answer a broken path", async () => {
    const answer = await gateway.send("DELETE", "/auth/v1/sessions/%E0%A4%A", { token: "full" });
    expect(answer).toMatchObject({ status: 400, json: { error: "InvalidRequest" } });
  });

  it("answer a body that stops short of its length", async () => {
    const { port } = new URL(gateway.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.end(
      "POST /auth/v1/token/refresh HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    );
    socket.resume();
    await new Promise((resolve) => socket.once("close", resolve));
    expect((await me()).status).toBe(200);
  });
});

describe("a body that a route does not take", () => {
  const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const bodies: Record<string, string> = {
    "with a length": `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
    "in chunks": `Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
  };
  it.each(Object.entries(bodies))("%s is read past and is not the next request", async (_, body) => {
    const rows = gateway.routes.filter(({ request, events }) => request.body === undefined && events === undefined);
    const heads = [
      ...rows.map(({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "x")}`),
      ...["/", "/openapi.json", "/callback", "/nowhere"].map((path) => `GET ${path}`),
    ];
    for (const head of heads) {
      const first = `${head} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer full\r\n${body}`;
      const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
      let text = "";
      socket.on("data", (chunk) => (text += chunk));
      socket.write(`${first}GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      await new Promise((resolve) => socket.once("close", resolve));
      expect(text.match(/HTTP\/1\.1 \d{3} /g), head).toHaveLength(2);
    }
    await expect.poll(() => gateway.samples.length).toBe(heads.length * 2);
  });
});

describe("browsers", () => {
  it("may call from an allowed origin", async () => {
    const preflight = await gateway.send("OPTIONS", "/auth/v1/signup", {
      headers: { origin: "https://app.example.com", "access-control-request-method": "POST" },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    const { headers } = await me({ origin: "https://app.example.com" });
    expect(headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    const exposed = headers.get("access-control-expose-headers")!.split(",");
    expect(exposed).toEqual(["Date", "X-Request-Id", "Retry-After", "WWW-Authenticate"]);
    expect(Math.abs(Date.parse(headers.get("date")!) - Date.now())).toBeLessThan(5_000);
  });

  it.each(APP_ORIGINS)("may be the web view of an app: %s", async (origin) => {
    const app = await startTestGateway({ allowedOrigins: [origin] });
    const allowedTo = async (from: string) => {
      const { headers } = await app.send("GET", "/account/v1/me", { token: "full", headers: { origin: from } });
      return headers.get("access-control-allow-origin");
    };
    expect(await allowedTo(origin)).toBe(origin);
    const others = [`${origin}.evil.example`, `${origin}:1`, `${origin}/`, "null", "file://", "https://localhost"];
    for (const other of [...others, ...APP_ORIGINS.filter((each) => each !== origin)]) {
      expect(await allowedTo(other), other).toBeNull();
    }
    await app.stop();
  });

  it("may not from any other", async () => {
    expect((await me({ origin: "https://evil.example.com" })).headers.has("access-control-allow-origin")).toBe(false);
  });
});

describe("the client's address", () => {
  const addressOf = async (forwarded: string) => {
    await me({ "x-forwarded-for": forwarded });
    return gateway.calls.at(-1)!.options.onBehalfOf.clientIp;
  };

  it("comes from the last hop that is not a trusted proxy", async () => {
    expect(await addressOf("203.0.113.9, 198.51.100.7")).toBe("198.51.100.7");
  });

  it.each([
    ["203.0.113.9, 198.51.100.7:4711", "198.51.100.7"],
    ["198.51.100.7:4711, 127.0.0.1:4712", "198.51.100.7"],
    ["[2001:db8::1]:4711", "2001:db8::1"],
    ["[2001:db8::1], 127.0.0.1", "2001:db8::1"],
    ["2001:db8::1", "2001:db8::1"],
  ])("comes without the port that a proxy adds: %s", async (forwarded, address) => {
    expect(await addressOf(forwarded)).toBe(address);
  });

  // Metadata of gRPC has no é: such a call was an internal error.
  it.each(["1.2.3:9.4", "1.2.3.4[5]", "[1.2.3.4]5", "203.0.113.9 [198.51.100.7]x", "unknown", "\u00e9"])(
    "is not taken from an entry that is none: %s",
    async (forwarded) => {
      expect(await addressOf(forwarded)).toBe("");
    },
  );

  it("is the connection's where no proxy is trusted", async () => {
    const plain = await startTestGateway();
    await plain.send("GET", "/account/v1/me", { token: "full", headers: { "x-forwarded-for": "203.0.113.9" } });
    expect(plain.calls[0]!.options.onBehalfOf.clientIp).toBe("127.0.0.1");
    await plain.stop();
  });
});

describe("pages", () => {
  it("describe the API", async () => {
    const { json } = await gateway.send("GET", "/openapi.json");
    const paths = json.paths as Record<string, Record<string, { operationId: string }>>;
    expect(json.openapi).toBe("3.1.1");
    const operations = Object.values(paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(operations.sort()).toEqual(gateway.routes.map(({ operationId }) => operationId).sort());
    expect(new Set(operations).size).toBe(operations.length);
    expect(JSON.stringify(json)).not.toContain("$schema");
  });

  it.each([
    ["range", "bytes=99999999-"],
    ["if-match", '"other"'],
    ["if-unmodified-since", new Date(0).toUTCString()],
  ])("are answered whole, also the parts of /docs, where %s asks for less", async (name, value) => {
    const { status, headers, text } = await gateway.send("GET", "/docs/swagger-ui.css", { headers: { [name]: value } });
    expect([status, headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
    expect(text).toContain(".swagger-ui");
  });

  it("end a login in a browser without showing anything of it", async () => {
    const answer = await gateway.send("GET", "/callback?code=the-secret-code");
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain("the-secret-code");
  });
});
