import { PassThrough } from "node:stream";
import { it } from "vitest";
import { feed } from "./streams.ts";

it("a client's stream that closes releases the requests that it waits for", async () => {
  const sink = new PassThrough({ objectMode: true });
  const released = Promise.withResolvers<void>();
  const requests: AsyncIterableIterator<string> = {
    [Symbol.asyncIterator]: () => requests,
    next: () => new Promise(() => undefined),
    return: async () => {
      released.resolve();
      return { done: true, value: undefined };
    },
  };
  const fed = feed(requests, sink, () => undefined);
  sink.destroy();
  await Promise.all([fed, released.promise]);
});
