interface Waiting<T, R> {
  item: T;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/** Adds an item to the next batch of its key. Errors: those of the batch. */
export type Batcher<T, R> = (item: T, key?: string) => Promise<R>;

/**
 * Runs items in batches: items that arrive in one turn of the event loop, and those that arrive while a batch
 * of their key runs, share the next one, with one statement and one flush. `run` returns a result for each
 * item.
 */
export function createBatcher<T, R>(
  run: (items: readonly T[], key: string) => Promise<readonly R[]>,
  maxItems = 500,
): Batcher<T, R> {
  const queues = new Map<string, Waiting<T, R>[]>();

  async function drain(key: string, queue: Waiting<T, R>[]): Promise<void> {
    // The answers of one batch continue in one turn: together they are the next batch of what they do next.
    await new Promise(setImmediate);
    while (queue.length > 0) {
      const batch = queue.splice(0, maxItems);
      try {
        const items = batch.map(({ item }) => item);
        const results = await run(items, key);
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
      if (queue) return void queue.push({ item, resolve, reject });
      const first = [{ item, resolve, reject }];
      queues.set(key, first);
      void drain(key, first);
    });
}
