import { AppError } from "@countersign/core";
import type { CallContext } from "./context.ts";
import { MAX_ITEMS_PER_MESSAGE, takeMessage } from "./message-size.ts";

/**
 * With so many items whose answers the caller has not taken, no further message is read, which slows a fast
 * caller down. The last message may bring it to 511 + 256.
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
  call: Pick<CallContext, "draining" | "signal">,
  work: (item: Item) => Promise<Answer>,
  bytesOf: (answer: Answer) => number,
): AsyncGenerator<Required<AnswersMessage<Answer>>> {
  let open = 0;
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
    ready.push(answer);
    if (ready.length === 1) setImmediate(waken);
  };
  const take = () => {
    const answers = takeMessage(ready, bytesOf);
    open -= answers.length;
    if (open < CONCURRENCY) resume?.();
    return answers;
  };

  const iterator = messages[Symbol.asyncIterator]();
  // One listener for the whole stream: a race of each message against a promise would keep every race in
  // memory.
  let interrupt: (() => void) | undefined;
  const stops = () => call.signal.aborted || call.draining?.aborted === true;
  const onStop = () => {
    interrupt?.();
    resume?.();
  };
  for (const signal of [call.signal, call.draining]) signal?.addEventListener("abort", onStop, { once: true });
  const nextMessage = () =>
    new Promise<IteratorResult<readonly Item[]> | undefined>((resolve, reject) => {
      interrupt = () => resolve(undefined);
      if (stops()) resolve(undefined);
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
      open += next.value.length;
      lastRead = next.value.at(-1)?.id ?? lastRead;
      for (const item of next.value) void work(item).then(done);
      while (open >= CONCURRENCY && !stops()) {
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
      for (const signal of [call.signal, call.draining]) signal?.removeEventListener("abort", onStop);
      waken();
    });

  for (;;) {
    if (readUntil > 0) {
      yield { answers: [], readUntil };
      readUntil = 0;
    } else if (ready.length > 0) yield { answers: take(), readUntil: 0 };
    else if (ended && open === 0) break;
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  if (failure !== undefined) throw failure;
}
