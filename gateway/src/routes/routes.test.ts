import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { MAX_BODY_BYTES } from "../http/body.ts";
import type { Route } from "../http/route.ts";
import { createFakeServices } from "../testing/fake-services.ts";
import { DEADLINES, GOOD_REQUESTS, WRONG_TYPES } from "../testing/samples.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { createRoutes } from "./index.ts";

const rows = createRoutes(createFakeServices().clients, { requireLoginToken: true });
const named = (row: Route): [string, Route] => [`${row.method.toUpperCase()} ${row.path}`, row];
const available = rows.filter(({ events }) => events === undefined);

const pathOf = (row: Route) => GOOD_REQUESTS[row.operationId]?.path ?? row.path.replace(/\{\w+\}/g, "x");
const tokenOf = (row: Route) => (row.token === "user" || row.token === "ephemeral" ? { token: "full" } : {});

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.calls.length = 0;
});

interface ObjectSchema {
  properties?: Record<string, ObjectSchema>;
  required?: string[];
}

/** Returns the same body with null for every member that its schema has and it has not. */
function optionalAsNull({ properties = {} }: ObjectSchema, body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  const given = body as Record<string, unknown>;
  return Object.fromEntries(
    Object.keys({ ...properties, ...given }).map((name) => [
      name,
      name in given ? optionalAsNull(properties[name] ?? {}, given[name]) : null,
    ]),
  );
}

function send(row: Route, init: Parameters<TestGateway["send"]>[2] = {}) {
  const body = GOOD_REQUESTS[row.operationId]?.body;
  return gateway.send(row.method.toUpperCase(), pathOf(row), { ...tokenOf(row), ...(body && { body }), ...init });
}

/** Fails for a member that is undefined, at any depth. */
function expectNoHoles(schema: Route["response"], json: unknown) {
  const parsed = schema!.safeParse(json);
  expect(parsed.error?.issues ?? []).toEqual([]);
  // Fields that the schema does not document would have been stripped.
  expect(parsed.data).toEqual(json);
}

describe.each(available.map(named))("%s", (_name, row) => {
  it("answers what it documents", async () => {
    const answer = await send(row);
    expect(answer.status).toBe(row.status);
    if (row.response) expectNoHoles(row.response, answer.json);
    else expect(answer.text).toBe("");
    expect(gateway.calls).toHaveLength(1);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it("passes request id, client address and token on", async () => {
    await send(row, { headers: { "x-request-id": "request-42" } });
    const { onBehalfOf: call, deadlineMs } = gateway.calls[0]!.options;
    expect(call).toMatchObject({ requestId: "request-42", clientIp: "127.0.0.1" });
    expect(call.rawToken).toBe(tokenOf(row).token);
    expect(deadlineMs).toBe(DEADLINES[row.operationId] ?? 3_000);
  });
});

describe.each(rows.filter(({ token }) => token === "optional").map(named))("%s", (_name, row) => {
  it("passes a token on unverified", async () => {
    for (const token of ["full", "sign", "recover", "bad", "expired", "ended"]) {
      expect(await send(row, { token })).toMatchObject({ status: 200 });
      expect(gateway.calls.at(-1)!.options.onBehalfOf.rawToken).toBe(token);
    }
  });

  it("takes anything else in the Authorization header for no token", async () => {
    for (const authorization of ["Basic YTpi", "Bearer", "Bearer a b", `Bearer ${"x".repeat(9_000)}`]) {
      expect(await send(row, { headers: { authorization } })).toMatchObject({ status: 200 });
      expect(gateway.calls.at(-1)!.options.onBehalfOf.rawToken).toBeUndefined();
    }
  });
});

const guarded = rows.filter(({ token }) => token === "user" || token === "ephemeral");
describe.each(guarded.map(named))("%s", (_name, row) => {
  it("needs a token", async () => {
    const answer = await gateway.send(row.method.toUpperCase(), pathOf(row));
    expect(answer).toMatchObject({ status: 401, json: { error: "Unauthenticated" } });
    expect(answer.headers.get("www-authenticate")).toBe('Bearer realm="countersign"');
  });

  it.each([
    ["bad", "InvalidAccessToken"],
    ["expired", "AccessTokenExpired"],
    ["ended", "SessionEnded"],
  ])("refuses a token that is %s", async (token, error) => {
    const answer = await send(row, { token });
    expect(answer).toMatchObject({ status: 401, json: { error } });
    expect(answer.headers.get("www-authenticate")).toContain('error="invalid_token"');
  });

  it.each(["sign", "recover"])("lets scope %s in only where it may", async (token) => {
    const mayUse = token === "sign" ? row.token === "ephemeral" : row.recover;
    const answer = await send(row, { token });
    if (mayUse) expect(answer.status).not.toBe(403);
    else {
      expect(answer).toMatchObject({ status: 403, json: { error: "InsufficientScope" } });
      expect(answer.json.detail).toMatch(/^This operation takes the access token of a full session.*; .* was sent$/);
      expect(answer.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
    }
  });
});

describe.each(rows.filter(({ request }) => request.body).map(named))("%s", (_name, row) => {
  const raw = (body: string, headers = {}) => send(row, { body, headers });

  it.each(["{", "[]", "null", '"x"', "", "[".repeat(1_000)])("refuses the body %j", async (body) => {
    expect(await raw(body)).toMatchObject({ status: 400, json: { error: "InvalidRequest" } });
  });

  it.each([
    ["content-type", "text/plain", "The Content-Type `text/plain` is not supported: send application/json"],
    ["content-type", "", "The Content-Type `` is not supported: send application/json"],
    ["content-type", "application/json; charset=latin1", "The charset `latin1` is not supported: send UTF-8"],
    ["content-encoding", "gzip", "The Content-Encoding `gzip` is not supported: send the body uncompressed"],
    ["content-encoding", "<b>, br", "The Content-Encoding `bbr` is not supported: send the body uncompressed"],
  ])("refuses the %s %j and says so", async (name, value, detail) => {
    const answer = await raw("{}", { [name]: value });
    expect(answer).toMatchObject({ status: 415, json: { error: "UnsupportedMediaType", detail } });
  });

  it("takes identity for no encoding, and says where a body is not UTF-8", async () => {
    const { body } = GOOD_REQUESTS[row.operationId]!;
    expect(await send(row, { body, headers: { "content-encoding": "identity" } })).toMatchObject({
      status: row.status,
    });
    const answer = await fetch(gateway.url + pathOf(row), {
      method: row.method.toUpperCase(),
      headers: { "content-type": "application/json", authorization: "Bearer full" },
      body: Buffer.from('{"x":"\u00e9"}', "latin1"),
    });
    expect(await answer.json()).toMatchObject({ status: 400, detail: "The body is not valid UTF-8" });
  });

  it("takes null for an absent member", async () => {
    const { body } = GOOD_REQUESTS[row.operationId]!;
    const schema = z.toJSONSchema(row.request.body!, { io: "input", unrepresentable: "any" }) as ObjectSchema;
    const withNulls = optionalAsNull(schema, body);
    await send(row);
    expect(await send(row, { body: withNulls as never })).toMatchObject({ status: row.status });
    expect(gateway.calls[1]!.request).toEqual(gateway.calls[0]!.request);
  });

  it("refuses a body over the limit", async () => {
    const body = JSON.stringify({ filler: "x".repeat(MAX_BODY_BYTES) });
    expect(await raw(body)).toMatchObject({ status: 413, json: { error: "PayloadTooLarge" } });
  });

  it("names every required field that is missing", async () => {
    const { status, json } = await raw("{}");
    const required = Object.keys(GOOD_REQUESTS[row.operationId]!.body!);
    if (row.operationId === "updateDevice") expect(status).toBe(200);
    else {
      expect(status).toBe(400);
      const pointers = (json.errors as { pointer: string }[]).map(({ pointer }) => pointer);
      const unconditional = required.filter((name) => name !== "publicKey" && name !== "deviceKey");
      expect(pointers).toEqual(expect.arrayContaining(unconditional.map((name) => `/${name}`)));
      for (const { detail } of json.errors as { detail: string }[]) expect(detail).toMatch(/^(Required|One of)/);
    }
    expect(gateway.calls).toHaveLength(status === 200 ? 1 : 0);
  });

  it("ignores fields that it does not know", async () => {
    const { body } = GOOD_REQUESTS[row.operationId]!;
    expect(await send(row, { body: { ...body, fromTheFuture: [1] } })).toMatchObject({ status: row.status });
    expect(gateway.calls[0]!.request).not.toHaveProperty("fromTheFuture");
  });
});

describe("wrong fields", () => {
  it.each(WRONG_TYPES)("%s %# are named", async (operationId, body, pointer) => {
    const row = rows.find((each) => each.operationId === operationId)!;
    const answer = await send(row, { body });
    expect(answer).toMatchObject({ status: 400, json: { error: "InvalidRequest" } });
    expect((answer.json.errors as { pointer: string }[]).map((error) => error.pointer)).toContain(pointer);
    expect(gateway.calls).toHaveLength(0);
  });
});

describe("every path", () => {
  const byPath = Map.groupBy(rows, ({ path }) => path);
  it.each([...byPath])("%s refuses other verbs", async (_path, [first, ...others]) => {
    const known = [first!, ...others].map(({ method }) => method.toUpperCase());
    const other = ["PATCH", "POST", "DELETE", "PUT"].find((method) => !known.includes(method))!;
    const answer = await gateway.send(other, pathOf(first!));
    expect(answer).toMatchObject({ status: 405, json: { error: "MethodNotAllowed" } });
    expect(
      answer.headers
        .get("allow")!
        .split(", ")
        .filter((method) => method !== "HEAD")
        .sort(),
    ).toEqual(known.sort());
  });
});
