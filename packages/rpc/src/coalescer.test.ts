import { expect, it } from "vitest";
import { createCallsClient } from "./calls-client.ts";
import type { AnyMethod } from "./definition.ts";

it("gives a call that is sent again only the time that its caller still waits", async () => {
  const method = {
    path: "/account.v1.Accounts/GetAccount",
    requestSerialize: () => Buffer.alloc(0),
    responseDeserialize: () => "answer",
  } as unknown as AnyMethod;
  const timeouts: number[] = [];
  const client = createCallsClient(async function* (messages) {
    for await (const { calls } of messages) {
      timeouts.push(...calls.map(({ timeoutMs }) => timeoutMs));
      if (timeouts.length > 1) yield { answers: calls.map(({ id }) => ({ id, response: Buffer.alloc(0) })) };
      // The first stream ends in order and leaves its call unanswered: no server read it.
      else return void (await new Promise((resolve) => setTimeout(resolve, 200)));
    }
  });
  const metadata = { requestId: "r", traceparent: "", token: undefined, clientIp: undefined, signals: [] };
  expect(await client.send(method, {}, { ...metadata, deadline: Date.now() + 5_000 })).toBe("answer");
  client.close();
  const [first, second] = timeouts as [number, number];
  expect(first).toBeGreaterThan(4_900);
  expect(second).toBeGreaterThan(0);
  expect(second).toBeLessThanOrEqual(first - 190);
});
