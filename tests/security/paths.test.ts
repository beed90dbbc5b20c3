import { describe, it } from "vitest";
import { expectProblem, send } from "../support/raw-request.ts";
import { afterwards } from "./attacker.ts";
import { victim } from "./route-attacks.ts";
import { hostileRoute } from "./routes.ts";
import { mintAccessToken } from "./token-forge.ts";

describe("paths", () => {
  it.each([
    "/nowhere",
    "//account/v1/me",
    "/account//v1/me",
    "/Account/v1/me",
    "/account/v1/me%00",
    "/account/v1/me;x=1",
    "/account/v1/..%2fme",
    "/account/v1/%2e%2e/v1/me",
    "/account/v1/me/../me",
    "/__proto__",
    "/auth/v1/sessions/constructor/x",
    `/${"a/".repeat(2_000)}`,
  ])("%s is 404", async (path) => {
    const answer = await send({ method: "GET", path, token: await mintAccessToken(victim) });
    expectProblem(answer, 404, "RouteNotFound");
  });

  it.each(["/auth/v1/sessions/%", "/auth/v1/sessions/%ff", "/device/v1/devices/%c0%af", "/device/v1/devices/%zz"])(
    "%s is 400",
    async (path) => {
      const answer = await send({ method: "DELETE", path, token: await mintAccessToken(victim) });
      expectProblem(answer, 400, "InvalidRequest");
    },
  );

  it.each(["1", "0".repeat(36), "null", "' OR ''='", "0197a1b2-0000-7000-8000-00000000000g", "%00", "%E2%80%AE"])(
    "the session id %s is 400",
    async (id) => {
      const path = `/auth/v1/sessions/${id.startsWith("%") ? id : encodeURIComponent(id)}`;
      const answer = await send({ method: "DELETE", path, token: await mintAccessToken(victim) });
      expectProblem(answer, 400, "InvalidRequest");
    },
  );

  it.each([
    "include_revoked=2",
    "include_revoked=TRUE",
    "include_revoked=true&include_revoked=false",
    "include_revoked=",
  ])("the query %s is 400", async (text) => {
    const answer = await send({ method: "GET", path: `/key/v1/keys?${text}`, token: await mintAccessToken(victim) });
    expectProblem(answer, 400, "InvalidRequest");
  });

  it.each(['"', "a\tb", "\u00e9", "x".repeat(256), '"a', 'a"b', "a b"])(
    "the Idempotency-Key %s is 400",
    async (key) => {
      const { path, body } = hostileRoute("signUp").sample(victim);
      const answer = await send({ method: "POST", path, body, headers: { "idempotency-key": key } });
      expectProblem(answer, 400, "InvalidRequest");
    },
  );
});

it.each(["x", "-1", "1e9", "9".repeat(21), "1 2", "0x1", "\u00e9"])("the Last-Event-ID %j is 400", async (id) => {
  const headers = { "last-event-id": id };
  const answer = await send({
    method: "GET",
    path: "/device/v1/events",
    token: await mintAccessToken(victim),
    headers,
  });
  expectProblem(answer, 400, "InvalidRequest");
});

afterwards();
