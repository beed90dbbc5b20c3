import { AppError, REASONS, type Reason } from "@countersign/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createOpenApi } from "../openapi.ts";
import { documentedCodes } from "../testing/documented-codes.ts";
import { createFakeServices } from "../testing/fake-services.ts";
import { GOOD_REQUESTS } from "../testing/samples.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";
import { createRoutes } from "./index.ts";

const rows = createRoutes(createFakeServices().clients, { requireLoginToken: true });
const document = createOpenApi(rows);

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

/** Errors that every route documents: the service fails or does not answer. */
const OF_EVERY_ROUTE = ["Unavailable", "DeadlineExceeded", "Internal"] as const;

describe.each(rows.map((row) => [`${row.method.toUpperCase()} ${row.path}`, row] as const))("%s", (_name, row) => {
  const codes = documentedCodes(document, row);
  const good = GOOD_REQUESTS[row.operationId];

  it.each([...new Set<Reason>([...row.errors, ...OF_EVERY_ROUTE])])(
    "answers a service's %s as documented",
    async (reason) => {
      gateway.fail(new AppError(reason));
      const token = row.token === "user" || row.token === "ephemeral" ? { token: "full" } : {};
      const answer = await gateway.send(row.method.toUpperCase(), good?.path ?? row.path.replace(/\{\w+\}/g, "x"), {
        ...token,
        ...(good?.body && { body: good.body }),
      });
      const { http } = REASONS[reason];
      expect(answer).toMatchObject({ status: http, json: { error: reason, status: http } });
      expect(answer.headers.get("content-type")).toMatch(/^application\/problem\+json/);
      expect(codes.get(http)).toContain(reason);
    },
  );
});
