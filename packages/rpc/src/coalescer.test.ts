import type { AppError } from "@countersign/core";
import { StreamRequest } from "@countersign/proto/rpc/v1/calls.ts";
import { expect, it } from "vitest";
import { createCallsClient } from "./calls-client.ts";
import type { AnyMethod } from "./definition.ts";
import { MAX_MESSAGE_BYTES } from "./message-size.ts";

const metadata = { requestId: "r", traceparent: "", token: undefined, clientIp: undefined, signals: [] };

/** Returns a method whose requests have `bytes` bytes. */
const methodOf = (path: string, bytes: number) =>
  ({
    path,
    requestSerialize: () => Buffer.alloc(bytes),
    responseDeserialize: () => "answer",
  }) as unknown as AnyMethod;

/** Returns the server's answer to each of these calls. */
const answersTo = (calls: readonly { id: number }[]) => ({
  answers: calls.map(({ id }) => ({ id, response: Buffer.alloc(0) })),
  readUntil: 0,
});

it("gives a call that is sent again only the time that its caller still waits", async () => {
  const method = methodOf("/account.v1.Accounts/GetAccount", 0);
  const timeouts: number[] = [];
  const client = createCallsClient(async function* (messages) {
    for await (const { calls } of messages) {
      timeouts.push(...calls.map(({ timeoutMs }) => timeoutMs));
      if (timeouts.length > 1) yield answersTo(calls);
      // The first stream ends in order and leaves its call unanswered: no server read it.
      else return void (await new Promise((resolve) => setTimeout(resolve, 200)));
    }
  });
  expect(await client.send(method, {}, { ...metadata, deadline: Date.now() + 5_000 })).toBe("answer");
  client.close();
  const [first, second] = timeouts as [number, number];
  expect(first).toBeGreaterThan(4_900);
  expect(second).toBeGreaterThan(0);
  expect(second).toBeLessThanOrEqual(first - 190);
});

it("many large calls at once make several messages, none of them too large for the stream", async () => {
  const method = methodOf("/auth.v1.SignUp/SignUp", 60_000);
  const sizes: number[] = [];
  const client = createCallsClient(async function* (messages) {
    for await (const message of messages) {
      sizes.push(StreamRequest.encode(message).finish().length);
      yield answersTo(message.calls);
    }
  });
  const token = "t".repeat(2_000);
  const calls = Array.from({ length: 100 }, () =>
    client.send(method, {}, { ...metadata, token, deadline: Date.now() + 5_000 }),
  );
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["answer"]));
  client.close();
  expect(Math.max(...sizes)).toBeLessThan(MAX_MESSAGE_BYTES);
});

it("sends calls that a stopping server has not read elsewhere at once, while it answers those that it has read", async () => {
  const method = methodOf("/account.v1.Accounts/GetAccount", 0);
  const isAnswered = Promise.withResolvers<void>();
  const streams: string[][] = [];
  const client = createCallsClient(async function* (messages) {
    const requests: string[] = [];
    const isFirst = streams.push(requests) === 1;
    for await (const { calls } of messages) {
      requests.push(...calls.map(({ requestId }) => requestId));
      if (!isFirst) yield answersTo(calls);
      else if (requests.length === 2) {
        yield { answers: [], readUntil: calls[0]!.id - 1 };
        await isAnswered.promise;
        yield answersTo([{ id: calls[0]!.id - 1 }]);
        return;
      }
    }
  });
  const send = (requestId: string) => client.send(method, {}, { ...metadata, requestId, deadline: Date.now() + 5_000 });
  const slow = send("slow");
  await sleep(10);
  expect(await Promise.all([send("unread"), sleep(20).then(() => send("later"))])).toEqual(["answer", "answer"]);
  isAnswered.resolve();
  expect(await slow).toBe("answer");
  expect(streams).toEqual([
    ["slow", "unread"],
    ["unread", "later"],
  ]);
  client.close();
});

/** Returns a client whose stream takes one message, and the others when `open` is called. */
function blockedClient() {
  const gate = Promise.withResolvers<void>();
  const seen: { request: string; timeoutMs: number }[] = [];
  const client = createCallsClient(async function* (messages) {
    for await (const { calls } of messages) {
      seen.push(...calls.map(({ requestId, timeoutMs }) => ({ request: requestId, timeoutMs })));
      yield answersTo(calls);
      await gate.promise;
    }
  });
  const send = (requestId: string, milliseconds: number, signals: AbortSignal[] = []) =>
    client.send(
      methodOf("/account.v1.Accounts/GetAccount", 0),
      {},
      {
        ...metadata,
        requestId,
        signals,
        deadline: Date.now() + milliseconds,
      },
    );
  return { seen, send, open: gate.resolve, close: client.close };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it("does not send a call whose caller goes away while it waits to be sent", async () => {
  const { seen, send, open, close } = blockedClient();
  await send("first", 5_000);
  const leaving = new AbortController();
  const left = send("left", 5_000, [leaving.signal]).catch((error: AppError) => error);
  const stays = send("stays", 5_000);
  await sleep(50);
  leaving.abort();
  open();
  expect(await stays).toBe("answer");
  expect(await left).toMatchObject({ reason: "Unavailable", detail: "The caller went away" });
  expect(seen.map(({ request }) => request)).toEqual(["first", "stays"]);
  close();
});

it("does not send a call whose time is over when it could be sent, and sends the others with the time that is left", async () => {
  const { seen, send, open, close } = blockedClient();
  await send("first", 5_000);
  const late = send("late", 200).catch((error: AppError) => error);
  const other = send("other", 5_000);
  expect(await late).toMatchObject({ reason: "DeadlineExceeded" });
  open();
  expect(await other).toBe("answer");
  expect(seen.map(({ request }) => request)).toEqual(["first", "other"]);
  expect(seen[1]!.timeoutMs).toBeLessThanOrEqual(4_800);
  close();
});
