import { AppError } from "@countersign/core";
import type { CallContext } from "./context.ts";
import { MAX_ITEMS_PER_MESSAGE, takeMessage } from "./message-size.ts";

/**
 * With so many items in work, no further message is read, which slows a fast caller down. The last message
 * may bring it to 511 + 256.
 */
const CONCURRENCY = 512;

/** `readUntil`: not 0 where the server stops and has read the items up to this id only. */
export interface AnswersMessage<Answer> {
  answers: Answer[];
  readUntil?: number;
}

/**
 * Answers the items of a coalescer: works on all of them at once and yields answers as they become ready, in
 * any order. The answers of one turn of the event loop share a message, as far as they fit (`bytesOf`).
 * When the process stops, it says which items it has read, so that the others need not wait for the slowest
 * of these; they are answered and the stream ends. `work` must not reject.
 */
export async function* answerItems<Item extends { id: number }, Answer>(
  messages: AsyncIterable<readonly Item[]>,
  call: Pick<CallContext, "draining">,
  work: (item: Item) => Promise<Answer>,
  bytesOf: (answer: Answer) => number,
): AsyncGenerator<Required<AnswersMessage<Answer>>> {
  let running = 0;
  const ready: Answer[] = [];
  let lastRead = 0;
  let readUntil = 0;
  let ended = false;
  let failure: unknown;
  let wake: (() => void) | undefined;
  let resume: (() => void) | undefined;
  const waken = () => {
    wake?.();
    wake = undefined;
  };
  const done = (answer: Answer) => {
    running -= 1;
    ready.push(answer);
    if (ready.length === 1) setImmediate(waken);
    if (running < CONCURRENCY) resume?.();
  };

  const iterator = messages[Symbol.asyncIterator]();
  // One listener for the whole stream: a race of each message against a promise would keep every race in
  // memory.
  let interrupt: (() => void) | undefined;
  const onDraining = () => {
    interrupt?.();
    resume?.();
  };
  call.draining?.addEventListener("abort", onDraining, { once: true });
  const nextMessage = () =>
    new Promise<IteratorResult<readonly Item[]> | undefined>((resolve, reject) => {
      interrupt = () => resolve(undefined);
      if (call.draining?.aborted) resolve(undefined);
      else iterator.next().then(resolve, reject);
    });
  const read = async () => {
    for (;;) {
      const next = await nextMessage();
      if (next === undefined) {
        readUntil = lastRead;
        return;
      }
      if (next.done) return;
      if (next.value.length > MAX_ITEMS_PER_MESSAGE) throw new AppError("InvalidRequest");
      running += next.value.length;
      lastRead = next.value.at(-1)?.id ?? lastRead;
      for (const item of next.value) void work(item).then(done);
      while (running >= CONCURRENCY && !call.draining?.aborted) {
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
      }
    }
  };
  read()
    .catch((error: unknown) => {
      failure = error;
    })
    .finally(() => {
      ended = true;
      call.draining?.removeEventListener("abort", onDraining);
      waken();
    });

  for (;;) {
    if (readUntil > 0) {
      yield { answers: [], readUntil };
      readUntil = 0;
    } else if (ready.length > 0) yield { answers: takeMessage(ready, bytesOf), readUntil: 0 };
    else if (ended && running === 0) break;
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  if (failure !== undefined) throw failure;
}
