import type { TraceParent } from "./trace-parent.ts";
import { activeTrace, inSpan } from "./tracing.ts";

interface Waiting<T, R> {
  item: T;
  /** The work that waits for it; undefined where spans are not exported. */
  trace: TraceParent | undefined;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/** Adds an item to the next batch of its key. Errors: those of the batch. */
export type Batcher<T, R> = (item: T, key?: string) => Promise<R>;

/**
 * Runs items in batches: items that arrive in one turn of the event loop, and those that arrive while a batch
 * of their key runs, share the next one, with one statement and one flush. `run` returns a result for each
 * item. With `waitMs`, a batch begins so many milliseconds after its first item: for items that nobody waits
 * for.
 */
export function createBatcher<T, R>(
  run: (items: readonly T[], key: string) => Promise<readonly R[]>,
  maxItems = 500,
  waitMs = 0,
): Batcher<T, R> {
  const queues = new Map<string, Waiting<T, R>[]>();

  async function drain(key: string, queue: Waiting<T, R>[]): Promise<void> {
    // The answers of one batch continue in one turn: together they are the next batch of what they do next.
    await new Promise<void>((resolve) => void (waitMs > 0 ? setTimeout(resolve, waitMs) : setImmediate(resolve)));
    while (queue.length > 0) {
      const batch = queue.splice(0, maxItems);
      try {
        const items = batch.map(({ item }) => item);
        const [parent, ...links] = batch.flatMap(({ trace }) => trace ?? []);
        const work = () => run(items, key);
        const attributes = { "batch.size": batch.length };
        const results = await (parent ? inSpan("batch", { parent, links, attributes }, work) : work());
        for (const [i, { resolve }] of batch.entries()) resolve(results[i] as R);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    queues.delete(key);
  }

  return (item, key = "") =>
    new Promise((resolve, reject) => {
      const queue = queues.get(key);
      const waiting = { item, trace: activeTrace(), resolve, reject };
      if (queue) return void queue.push(waiting);
      const first = [waiting];
      queues.set(key, first);
      void drain(key, first);
    });
}
