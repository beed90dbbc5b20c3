import { answeredProblems, excusedCodes } from "@countersign/local-stack/testing/gateway-logs.ts";
import { beforeAll, describe, expect, it } from "vitest";
import { createOpenApi } from "../../gateway/src/openapi.ts";
import { createRoutes } from "../../gateway/src/routes/index.ts";
import { documentedCodes } from "../../gateway/src/testing/documented-codes.ts";
import { createFakeServices } from "../../gateway/src/testing/fake-services.ts";

/** Codes that the router answers when no row matches. */
const OF_NO_ROW = ["RouteNotFound", "MethodNotAllowed"];
/** Codes for requests that are not valid HTTP, on any path. */
const OF_ANY_REQUEST = ["InvalidRequest", "PayloadTooLarge", "UnsupportedMediaType"];

/** Codes that the router answers to a malformed path before it has found the row. */
const BEFORE_THE_ROW: Record<string, string[]> = {
  getTwoFactor: ["InvalidRequest"],
  rejectTwoFactor: ["InvalidRequest"],
};

const rows = createRoutes(createFakeServices().clients, { requireLoginToken: true });
const document = createOpenApi(rows);
const documentedOf = (row: { path: string; method: string }): string[] =>
  [...documentedCodes(document, row).values()].flat();

/** The codes that the gateways answered in this run's e2e tests, by method and path. */
const answered = new Map<string, Set<string>>();
beforeAll(() => {
  for (const { method, route, reason } of answeredProblems()) {
    const key = `${method} ${route}`;
    answered.set(key, (answered.get(key) ?? new Set()).add(reason));
  }
  if (answered.size === 0) throw new Error("no answers: this runs after the e2e project, in one run with it");
});

describe.each(rows.map((row) => [`${row.method.toUpperCase()} ${row.path}`, row] as const))("%s", (name, row) => {
  const excused = () => [...(excusedCodes()[row.operationId] ?? []), ...(BEFORE_THE_ROW[row.operationId] ?? [])];
  const codes = () => answered.get(name) ?? new Set<string>();

  it("answered every code that is documented for it, except those with a reason", () => {
    const missing = documentedOf(row).filter((code) => !codes().has(code) && !excused().includes(code));
    expect(missing).toEqual([]);
  });

  it("answered no undocumented code", () => {
    const documented = [...documentedOf(row), ...OF_NO_ROW, ...OF_ANY_REQUEST];
    expect([...codes()].filter((code) => !documented.includes(code))).toEqual([]);
  });

  // An answered code may keep its reason: a busy machine can cause one, such as a late chain node.
  it("has reasons only for documented codes", () => {
    expect(excused().filter((code) => !documentedOf(row).includes(code))).toEqual([]);
  });
});
