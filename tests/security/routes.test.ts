import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { rows } from "../e2e/contract/rows/index.ts";
import { expectProblem, type RawAnswer, send } from "../support/raw-request.ts";
import { afterwards, type Victim } from "./attacker.ts";
import { DECEIVING_TEXT, fieldsOf, NEVER_TEXT, nested, replaced, victim, WRONG_TYPES } from "./route-attacks.ts";
import { HOSTILE_ROUTES, type HostileRoute, type Sample } from "./routes.ts";
import { mintAccessToken } from "./token-forge.ts";

/** Returns a token for a session without a database row: signing it out affects no other test. */
async function tokenFor({ token, asNobody }: HostileRoute): Promise<string | undefined> {
  if (token !== "required") return undefined;
  return mintAccessToken(asNobody ? { ...victim, accountId: randomUUID() } : victim);
}

/** Sends a sample with a change and checks what every answer must have. */
async function attack(
  route: HostileRoute,
  change: { sample?: Sample; body?: unknown; path?: string; headers?: Record<string, string>; chunked?: boolean } = {},
): Promise<RawAnswer> {
  const sample = change.sample ?? route.sample(victim);
  const answer = await send({
    method: route.method,
    path: change.path ?? sample.path,
    token: await tokenFor(route),
    body: "body" in change ? change.body : sample.body,
    ...(change.headers && { headers: change.headers }),
    ...(change.chunked && { chunked: true }),
  });
  expectDocumented(route, answer);
  return answer;
}

/** Expects a success or a problem that the route's description names, in time. */
function expectDocumented(route: HostileRoute, answer: RawAnswer): void {
  const { codesByStatus } = route;
  expect([...codesByStatus.keys()].map(String), `${route.operationId}: ${answer.status} ${answer.text}`).toContain(
    String(answer.status),
  );
  expect(answer.headers["x-request-id"]).toMatch(/^[\w.-]{8,64}$/);
  expect(answer.headers["cache-control"]).toMatch(/^no-store/);
  expect(answer.ms, `${route.operationId} took its time`).toBeLessThan(3_000);
  if (answer.status < 300) return;
  expectProblem(answer, answer.status);
  expect(codesByStatus.get(answer.status)).toContain(answer.body.error);
}

function expectSampleAnswer(route: HostileRoute, answer: RawAnswer): void {
  expect(route.answers, answer.text).toContain(answer.status < 300 ? answer.status : answer.body.error);
}

/** The operations that work without a token; every other one requires it. */
const WITHOUT_TOKEN = {
  signUp: "optional",
  refreshToken: "none",
  issueChallenge: "none",
  respondChallenge: "none",
  requestTwoFactor: "optional",
};

it("the table has every route of the gateway, and only these work without a token", () => {
  expect(HOSTILE_ROUTES.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(rows).sort());
  const open = HOSTILE_ROUTES.filter(({ token }) => token !== "required");
  expect(Object.fromEntries(open.map(({ operationId, token }) => [operationId, token]))).toEqual(WITHOUT_TOKEN);
});

describe.each(HOSTILE_ROUTES.map((route) => [route.operationId, route] as const))("%s", (_, route) => {
  // The tests of a body apply to the routes whose sample has one.
  const hasBody = "body" in route.sample({ deviceKey: {}, signedUp: { credentials: {} } } as unknown as Victim);

  const bodyTest = (name: string, work: () => Promise<void>) => {
    if (!hasBody) return;
    it(name, async () => {
      expect(route.readsBody, "the operation reads its body").toBe(true);
      await work();
    });
  };

  it("the sample is valid", async () => {
    expectSampleAnswer(route, await attack(route));
  });

  bodyTest("a wrong type of any field is 400 and named", async () => {
    const sample = route.sample(victim);
    for (const { pointer, value } of fieldsOf(sample.body)) {
      const isObject = typeof value === "object";
      const wrong = isObject
        ? [...WRONG_TYPES, ["a string", "x"] as [string, unknown]]
        : [...WRONG_TYPES, ...NEVER_TEXT];
      for (const [name, hostile] of wrong) {
        const answer = await attack(route, { sample, body: replaced(sample.body, pointer, hostile) });
        if (hostile === null) {
          const absent = await attack(route, { sample, body: replaced(sample.body, pointer, undefined) });
          expect([answer.status, answer.body?.error]).toEqual([absent.status, absent.body?.error]);
          continue;
        }
        const what = `${pointer}: ${name}: ${answer.status} ${answer.text}`;
        // Long hex is valid hex: later rules refuse it.
        expect(answer.status, what).toBe(400);
        if (answer.body.error !== "InvalidRequest") {
          expect(name, what).toBe("a long string");
          continue;
        }
        const pointers = answer.body.errors.map((each: { pointer: string }) => each.pointer);
        expect(
          pointers.some((each: string) => each.startsWith(pointer)),
          what,
        ).toBe(true);
      }
    }
  });

  bodyTest("deceiving text in any field has a documented answer", async () => {
    const sample = route.sample(victim);
    for (const { pointer, value } of fieldsOf(sample.body)) {
      if (typeof value === "object") continue;
      for (const [, hostile] of DECEIVING_TEXT) {
        await attack(route, { sample, body: replaced(sample.body, pointer, hostile) });
      }
    }
  });

  bodyTest("unknown, dangerous and double members change nothing", async () => {
    const sample = route.sample(victim);
    const json = JSON.stringify(sample.body);
    const bodies = [
      `{"__proto__":{"admin":true,"token":1},${json.slice(1)}`,
      `{"constructor":{"prototype":{"admin":true}},${json.slice(1)}`,
      `{"toString":null,"hasOwnProperty":1,"unknown":[1,2,{}],${json.slice(1)}`,
      `{${json.slice(1, -1)},${json.slice(1)}`,
      json.replaceAll("{", '{"__proto__":null,'),
      ` \t\r\n${json}\n `,
    ];
    for (const body of bodies) expectSampleAnswer(route, await attack(route, { sample, body }));
  });

  bodyTest("a body that is no JSON document of its kind is 400", async () => {
    const json = JSON.stringify(route.sample(victim).body);
    const bodies: (string | Buffer)[] = [
      "{",
      "nul",
      "",
      "null",
      "[]",
      '"x"',
      "1",
      json.slice(0, -1),
      `${json}x`,
      `${json}${json}`,
      `\ufeff${json.slice(1)}`,
      json.replaceAll('"', "'"),
      `${json.slice(0, -1)},}`,
      `/*c*/${json.slice(0, -1)}`,
      `{"a":NaN}`,
      `{"a":"\u0001"}`,
      Buffer.from([0xff, 0xfe, 0x7b, 0x00]),
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
      Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
      nested(10_000),
      "[".repeat(10_000),
      `{"a":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
      `${json.slice(0, -1)},"x":${nested(10_000)}}`,
      "\u0000".repeat(64),
    ];
    for (const body of bodies) {
      expect(await attack(route, { body })).toMatchObject({ status: 400, body: { error: "InvalidRequest" } });
    }
  });

  it("64 KiB are read, one byte more is 413", async () => {
    const { body = {} } = route.sample(victim);
    const padded = (size: number) => {
      const json = JSON.stringify({ pad: "", ...body });
      return json.replace('"pad":""', `"pad":"${"x".repeat(size - json.length)}"`);
    };
    const send413 = async (chunked: boolean) =>
      send({
        method: route.method,
        path: route.sample(victim).path,
        token: await tokenFor(route),
        body: padded(65_537),
        chunked,
      });
    expectSampleAnswer(route, await attack(route, { body: padded(65_536) }));
    expectProblem(await send413(false), 413, "PayloadTooLarge");
    const chunked = await send413(true);
    // A route without a body does not measure one.
    if (route.readsBody) expectProblem(chunked, 413, "PayloadTooLarge");
    else expectSampleAnswer(route, chunked);
  });

  bodyTest("another content type, charset or encoding is 415", async () => {
    for (const headers of [
      { "content-type": "text/plain" },
      { "content-type": "application/x-www-form-urlencoded" },
      { "content-type": "multipart/form-data; boundary=x" },
      { "content-type": "application/problem+json" },
      { "content-type": "application/json, text/plain" },
      { "content-type": "application/json; charset=utf-16" },
      { "content-type": "application/json; charset=iso-8859-1" },
      { "content-type": "" },
      { "content-encoding": "gzip" },
      { "content-encoding": "br" },
    ]) {
      expectProblem(await attack(route, { headers }), 415, "UnsupportedMediaType");
    }
    expectSampleAnswer(
      route,
      await attack(route, { headers: { "content-type": 'Application/JSON; charset="UTF-8"' } }),
    );
  });

  it("another verb is 405, and the answer names the allowed ones", async () => {
    const own = HOSTILE_ROUTES.filter(({ path }) => path === route.path).map(({ method }) => method);
    if (own.includes("GET")) own.push("HEAD");
    for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "PURGE"]) {
      if (own.includes(method)) continue;
      const answer = await send({ method, path: route.sample(victim).path, token: await mintAccessToken(victim) });
      expect(answer.status, `${method}: ${answer.text}`).toBe(405);
      expect(String(answer.headers.allow).split(", ").sort()).toEqual([...own].sort());
      if (method !== "HEAD") expectProblem(answer, 405, "MethodNotAllowed");
    }
  });

  it("an unknown query changes nothing", async () => {
    const queries = [
      "unknown=1",
      "__proto__[x]=1",
      "constructor=1&constructor=2",
      "%00=%ff",
      "a".repeat(2_000),
      "&&=&",
    ];
    // A sample may need a query of its own.
    const mark = ({ path }: { path: string }) => (path.includes("?") ? "&" : "?");
    for (const query of queries) {
      const sample = route.sample(victim);
      expectSampleAnswer(route, await attack(route, { sample, path: `${sample.path}${mark(sample)}${query}` }));
    }
  });

  if (route.token === "required")
    it("no token, garbage, two tokens, a token elsewhere: 401", async () => {
      const token = await mintAccessToken(victim);
      const sample = route.sample(victim);
      const { method } = route;
      const ask = (headers: Record<string, string | string[]>, query = "") =>
        send({ method, path: sample.path + query, body: sample.body, headers });
      expectProblem(await ask({}), 401, "Unauthenticated");
      expectProblem(await ask({ authorization: "" }), 401, "Unauthenticated");
      expectProblem(await ask({}, `?access_token=${token}&token=${token}`), 401, "Unauthenticated");
      expectProblem(await ask({ cookie: `access_token=${token}`, "x-access-token": token }), 401, "Unauthenticated");
      for (const authorization of [
        "Bearer",
        "Bearer ",
        "Bearer garbage",
        "Bearer a.b.c",
        `Basic ${btoa("a:b")}`,
        token,
        `Token ${token}`,
        `Bearer ${token} ${token}`,
        `Bearer ${token},Bearer ${token}`,
        `Bearer "${token}"`,
        `Bearer ${token}\u00a0`,
        `Bearer ${"x".repeat(9_000)}`,
      ]) {
        expectProblem(await ask({ authorization }), 401, "InvalidAccessToken");
      }
      const good = `Bearer ${token}`;
      for (const authorization of [
        [good, "Bearer garbage"],
        ["Bearer garbage", good],
        [good, good],
      ]) {
        expectProblem(await ask({ authorization }), 401, "InvalidAccessToken");
      }
    });

  if (route.token === "optional")
    it("an invalid token changes nothing", async () => {
      const { path, body } = route.sample(victim);
      for (const authorization of ["Bearer a.b.c", "Bearer", "Basic YTpi", ["Bearer a", "Bearer b"]]) {
        const answer = await send({ method: route.method, path, body, headers: { authorization } });
        expectSampleAnswer(route, answer);
      }
    });
});

afterwards();
