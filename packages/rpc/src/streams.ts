import type { Writable } from "node:stream";

/**
 * Writes everything that `source` yields, at the reader's pace. Errors: what `source` throws, or the signal's
 * reason. One listener for the whole stream: racing each item against a promise would keep every race in
 * memory.
 */
export async function pump<T>(source: AsyncIterable<T>, sink: Writable, signal: AbortSignal): Promise<void> {
  const iterator = source[Symbol.asyncIterator]();
  let interrupt: ((reason: unknown) => void) | undefined;
  const onAbort = () => interrupt?.(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const interruptible = <R>(start: (resolve: (value: R) => void, reject: (reason: unknown) => void) => void) =>
    new Promise<R>((resolve, reject) => {
      interrupt = reject;
      if (signal.aborted) reject(signal.reason);
      else start(resolve, reject);
    });
  try {
    for (;;) {
      const next = await interruptible<IteratorResult<T>>(
        (resolve, reject) => void iterator.next().then(resolve, reject),
      );
      if (next.done) return;
      if (!sink.write(next.value)) await interruptible<void>((resolve) => void sink.once("drain", resolve));
    }
  } catch (error) {
    // Not awaited: a generator that waits for its own work would delay the answer.
    void Promise.resolve(iterator.return?.()).catch(() => undefined);
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Writes the requests of a bidirectional stream at the other side's pace, until either side ends. */
export async function feed(requests: AsyncIterable<unknown>, sink: Writable, cancel: () => void): Promise<void> {
  const closed = new AbortController();
  sink.on("close", () => closed.abort());
  try {
    await pump(requests, sink, closed.signal);
    sink.end();
  } catch {
    cancel();
  }
}
