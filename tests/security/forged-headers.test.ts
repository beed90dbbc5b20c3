import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards, remember } from "./attacker.ts";
import { stateDir } from "./secrets.ts";
import { query } from "./token-forge.ts";
import { exchange } from "./wire.ts";
import { auth, get, ME, token, victim } from "./wire-requests.ts";

describe("headers that only the operator's machines may send", () => {
  it("a forged client address is neither counted nor logged", async () => {
    const forged = "203.0.113.66";
    const headers = {
      "x-forwarded-for": `${forged}, ${forged}`,
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "https",
      "x-real-ip": forged,
      "x-client-ip": forged,
      "x-cluster-client-ip": forged,
      "true-client-ip": forged,
      "cf-connecting-ip": forged,
      forwarded: `for=${forged};host=evil.example`,
    };
    const body = {
      challengeType: "deviceKey",
      challengeData: "00".repeat(16),
      deviceKey: { signature: "ab".repeat(64) },
    };
    const answer = await send({ method: "POST", path: "/auth/v1/signin/challenge/respond", body, headers });
    expectProblem(answer, 400, "UnknownChallenge");
    const counters = await query<{ key: string }>("auth", "SELECT key FROM rate_limit");
    expect(counters.length).toBeGreaterThan(0);
    for (const { key } of counters) expect(key).not.toContain(forged);
    for (const name of ["gateway", "auth"]) {
      expect(readFileSync(join(stateDir, "log", `${name}.log`), "utf8")).not.toContain(forged);
    }
  });

  it("gRPC metadata is not forwarded from HTTP", async () => {
    const headers = {
      "x-client-ip": "203.0.113.67",
      "grpc-timeout": "1n",
      "grpc-status": "0",
      "grpc-encoding": "gzip",
      "grpc-status-details-bin": "AAAA",
      "grpc-message": "x",
      "x-caller": "account",
      "x-account-id": victim.accountId,
      "x-token": token,
      te: "trailers",
      ":path": "x",
    } as Record<string, string>;
    delete headers[":path"];
    const nobody = await send({ method: "GET", path: ME, headers });
    expectProblem(nobody, 401, "Unauthenticated");
    expect((await send({ method: "GET", path: ME, token, headers })).status).toBe(200);
  });

  it.each([
    ["encoded line breaks", "abcdefgh%0d%0aSet-Cookie:%20a=b"],
    ["high bytes", "abcdefgh\u00e9\u00ff"],
    ["spaces", "abcd efgh"],
    ["markup", "<script>alert(1)</script>"],
    ["a format string", "%s%s%s%s%n"],
    ["too long a one", "a".repeat(65)],
    ["too short a one", "a"],
    ["a path", "../../../../x"],
  ])("a request id with %s is replaced", async (_, id) => {
    const { headers } = await send({ method: "GET", path: ME, token, headers: { "x-request-id": id } });
    expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(headers["set-cookie"]).toBeUndefined();
  });

  it("two request ids count as none; an invalid trace is replaced", async () => {
    const twice = { "x-request-id": ["request-one", "request-two"], traceparent: "00-zz-zz-01" };
    const { status, headers } = await send({ method: "GET", path: ME, token, headers: twice });
    expect(status).toBe(200);
    expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("a line break in a request id ends the header, and a valid id is kept", async () => {
    const { answers } = await exchange(get(ME, "X-Request-Id: request-12\r\nX-Other: a", auth()));
    expect(answers[0]!.headers["x-request-id"]).toBe("request-12");
  });

  it("only configured origins are allowed", async () => {
    for (const origin of ["https://evil.example", "null", "http://localhost"]) {
      const { headers } = await send({ method: "GET", path: ME, token, headers: { origin } });
      expect(headers["access-control-allow-origin"]).toBeUndefined();
      expect(headers["access-control-allow-credentials"]).toBeUndefined();
    }
  });

  it("pages send no token to other sites", async () => {
    const answer = await send({ method: "GET", path: "/.well-known/jwks.json", token, headers: { cookie: "a=b" } });
    expect(answer.status).toBe(200);
    expect(answer.headers["set-cookie"]).toBeUndefined();
    remember(victim.signedUp);
  });
});

afterwards();
