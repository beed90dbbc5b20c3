import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "@countersign/build/paths.ts";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createAsyncApi } from "./asyncapi.ts";
import { createOpenApi } from "./openapi.ts";
import { createRoutes } from "./routes/index.ts";
import { createFakeServices } from "./testing/fake-services.ts";
import { startTestGateway, type TestGateway } from "./testing/test-gateway.ts";

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
type Json = any;

const rows = createRoutes(createFakeServices().clients, { requireLoginToken: true });
const openApi = createOpenApi(rows, "https://gateway.test");
const document: Json = openApi;
const operations: [string, Json][] = rows.map((row) => [row.operationId, document.paths[row.path][row.method]]);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

/** Returns every member of every schema, by its place. */
const members = (place: string, schema: Json): [string, Json][] => [
  ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) => [
    [`${place}.${name}`, each] as [string, Json],
    ...members(`${place}.${name}`, each),
  ]),
  ...["items"].flatMap((name) => (schema[name] ? members(`${place}[]`, schema[name]) : [])),
];
const target = (schema: Json): Json =>
  schema.$ref ? target(document.components.schemas[schema.$ref.split("/").at(-1)]) : schema;
/** Returns the schema that a member refers to, alone or beside its own description. */
const referred = (schema: Json): Json => {
  const [only] = schema.allOf ?? schema.anyOf ?? [];
  return only?.$ref ? target(only) : target(schema);
};

describe("the document", () => {
  it("names every schema of a body, and describes it", () => {
    for (const [id, { requestBody, responses }] of operations) {
      const bodies = [requestBody, ...Object.values(responses)].map(
        (each: Json) => each?.content?.["application/json"],
      );
      for (const { schema } of bodies.filter(Boolean)) {
        expect(schema, id).toEqual({ $ref: expect.stringMatching(/^#\/components\/schemas\/[A-Z]\w+$/) });
        expect(target(schema).description, id).toMatch(/\.$/);
      }
    }
    for (const [name, schema] of Object.entries<Json>(document.components.schemas)) {
      const nested = members(name, schema).filter(([, each]) => each.properties !== undefined);
      expect(nested.map(([place]) => place)).toEqual([]);
    }
  });

  it("describes every member, with an example of every one that is no object", () => {
    const lacking = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      members(name, schema).filter(([, each]) => {
        const { description, examples, properties, type } = { ...referred(each), ...each };
        return !description || (properties === undefined && type !== "array" && examples === undefined);
      }),
    );
    expect(lacking).toEqual([]);
  });

  it("describes every operation and parameter, under a tag, with examples", () => {
    const tags = document.tags.map(({ name }: Json) => name);
    for (const [id, { summary, description, tags: own, parameters = [], requestBody, responses }] of operations) {
      expect(summary, id).toMatch(/^[A-Z]/);
      expect(description, id).toMatch(/\.$/);
      expect(tags).toEqual(expect.arrayContaining(own));
      expect(own).toHaveLength(1);
      for (const { description: text, schema } of parameters) {
        expect(text ?? schema.description ?? referred(schema).description, id).toMatch(/\.$/);
        expect(referred(schema).examples ?? schema.examples, id).toHaveLength(1);
      }
      const bodies = [requestBody, responses[200]].map((each) => each?.content?.["application/json"]).filter(Boolean);
      for (const { example } of bodies) expect(example, id).toEqual(expect.any(Object));
    }
  });

  it("closes no enumeration of an answer or event: a newer gateway may send other values", () => {
    const at = ($ref: string) =>
      $ref
        .split("/")
        .slice(1)
        .reduce((node, name) => node[name], document);
    const closed = (schema: Json, seen = new Set<Json>()): string[] => {
      if (typeof schema !== "object" || schema === null || seen.has(schema)) return [];
      seen.add(schema);
      const own = schema.enum ? [schema.description ?? JSON.stringify(schema.enum)] : [];
      const { examples: _, example: __, "x-events": events, ...parts } = schema;
      const below = Object.values({ ...parts, ...events }).flatMap((part) => closed(part, seen));
      return [...own, ...(schema.$ref ? closed(at(schema.$ref), seen) : []), ...below];
    };
    for (const [id, { responses }] of operations) {
      expect(closed(responses), id).toEqual([]);
    }
    expect(closed(asyncApi.components)).toEqual([]);
    expect(document.components.schemas.LoginMethod.enum).toContain("id_token_channel");
    expect(document.components.schemas.NewUserKey.properties.type.pattern).toBe("^(?:device|passkey)$");
    expect(document.components.schemas.Device.properties.type).toMatchObject({
      type: "string",
      "x-extensible-enum": ["mobile", "browser", "desktop"],
      description: expect.stringContaining("other values"),
    });
    expect(document.components.schemas.Problem.properties.error).toMatchObject({
      type: "string",
      "x-extensible-enum": expect.arrayContaining(["PleaseRegisterKey"]),
    });
    expect(document.components.schemas.Problem.properties.error.enum).toBeUndefined();
  });

  it("has a security scheme for each kind of token, and the headers of answers", () => {
    const of = (id: string) => operations.find(([name]) => name === id)![1];
    expect(of("signTransaction").security).toEqual([
      { accessToken: [] },
      { ephemeralAccessToken: [] },
      { recoveryAccessToken: [] },
    ]);
    expect(of("updateDevice").security).toEqual([{ accessToken: [] }]);
    expect(of("signUp").security).toEqual([{}, { accessToken: [] }]);
    expect(document.components.securitySchemes.loginToken.type).toBe("oauth2");
    for (const [id, { responses }] of operations) {
      expect(Object.keys(responses), id).toEqual(expect.arrayContaining(["400", "405", "408", "413", "431"]));
      for (const response of Object.values<Json>(responses)) {
        const { headers } = response.$ref ? document.components.responses[response.$ref.split("/").at(-1)] : response;
        expect(headers["X-Request-Id"], id).toBeDefined();
      }
    }
    expect(Object.keys(document.components.responses.MethodNotAllowed.headers)).toContain("Allow");
    expect(Object.keys(of("signTransaction").responses[429].headers)).toContain("Retry-After");
    expect(document.servers).toEqual([{ url: "https://gateway.test", description: "This gateway" }]);
  });

  it("has examples that fit its schemas", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    ajv.addSchema(document, "openapi");
    const fits = (place: string, pointer: string, value: unknown) => {
      const validate = ajv.getSchema(`openapi#${pointer}`)!;
      expect(validate(value) ? [] : validate.errors, place).toEqual([]);
    };
    for (const [id, { requestBody, responses }] of operations) {
      for (const { schema, example } of [requestBody, responses[200]].flatMap((each) =>
        Object.entries<Json>(each?.content ?? {}).flatMap(([type, media]) => (type.endsWith("json") ? [media] : [])),
      )) {
        fits(id, schema.$ref.slice(1), example);
      }
    }
    for (const [name, { value }] of Object.entries<Json>(document.components.examples)) {
      fits(name, "/components/schemas/Problem", value);
    }
  });
});

const variants = (media: Json): Json[] => {
  const { oneOf } = target(media.schema);
  return oneOf === undefined ? [media.example] : oneOf.map((each: Json) => exampleOf(target(each)));
};
/** Returns an example of an object of a one-of. */
const exampleOf = (schema: Json): Json => {
  if (schema.examples) return schema.examples[0];
  const named = referred(schema);
  if (named !== schema) return exampleOf(named);
  return Object.fromEntries(
    Object.entries<Json>(schema.properties)
      .filter(([, each]) => each.default !== "")
      .map(([name, each]) => [name, exampleOf(each)]),
  );
};

describe("the gateway", () => {
  it.each(rows.filter(({ request }) => request.body).map((row) => [row.operationId, row] as const))(
    "accepts the example of %s, in each of its forms",
    async (_id, row) => {
      const media = document.paths[row.path][row.method].requestBody.content["application/json"];
      const path = row.path.replace("{publicKey}", EXAMPLE_KEY).replace("{id}", "019a0000-0000-7000-8000-000000000001");
      for (const body of variants(media)) {
        const answer = await gateway.send(row.method.toUpperCase(), path, {
          ...(row.token === "none" ? {} : { token: "full" }),
          body,
        });
        expect(answer.status, `${JSON.stringify(body)} ${answer.text}`).toBe(row.status);
      }
    },
  );
});
const EXAMPLE_KEY = document.components.schemas.Device.properties.publicKey.examples[0];

const asyncApi: Json = createAsyncApi(openApi);

describe("Redocly's linter", () => {
  it.each([
    ["OpenAPI", document],
    ["AsyncAPI", asyncApi],
  ])(
    "finds neither errors nor warnings in the %s document",
    async (_name, content) => {
      const directory = mkdtempSync(join(tmpdir(), "countersign-openapi-"));
      const file = join(directory, "document.json");
      writeFileSync(file, JSON.stringify(content, null, 2));
      try {
        const options = ["--config", join(root, "gateway/redocly.yaml"), "--format", "json", file];
        const { stdout } = await promisify(execFile)(join(root, "node_modules/.bin/redocly"), ["lint", ...options], {
          env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
          maxBuffer: 1 << 24,
        });
        expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0 } });
      } finally {
        rmSync(directory, { recursive: true });
      }
    },
    60_000,
  );
});

describe("the AsyncAPI document", () => {
  it("is valid AsyncAPI 3", () => {
    const path = createRequire(import.meta.url).resolve("@asyncapi/specs/schemas/3.0.0.json");
    const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true, meta: false, validateSchema: false });
    const validate = ajv.compile(JSON.parse(readFileSync(path, "utf8")));
    expect(validate(asyncApi) ? [] : validate.errors).toEqual([]);
    expect(validate({ ...asyncApi, channels: 5 })).toBe(false);
  }, 60_000);

  it("has a message for each event, whose references resolve", () => {
    const { components, channels, servers } = asyncApi;
    expect(servers.gateway).toMatchObject({ host: "gateway.test", protocol: "https" });
    for (const [name, { $ref }] of Object.entries<Json>(channels.accountEvents.messages)) {
      expect($ref).toBe(`#/components/messages/${name}`);
      const payload = components.messages[name].payload.$ref.split("/").at(-1);
      expect(components.schemas[payload], name).toMatchObject({ type: "object", description: expect.any(String) });
    }
    expect(components.schemas.KeyEvent.properties.algorithm["x-extensible-enum"]).toContain("ES256");
  });
});
