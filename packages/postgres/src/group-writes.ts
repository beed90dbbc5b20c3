/** Writes one item; resolves once it is durable. Errors: those of the shared write. */
export type GroupedWrite<T> = (item: T) => Promise<void>;

interface Waiting<T> {
  item: T;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Groups writes: items that arrive while a write is under way share the next one, with one statement and one
 * flush. An item that arrives alone is written at once.
 */
export function groupWrites<T>(write: (items: readonly T[]) => Promise<void>, maxItems = 500): GroupedWrite<T> {
  const queue: Waiting<T>[] = [];
  let running = false;

  async function drain(): Promise<void> {
    running = true;
    while (queue.length > 0) {
      const batch = queue.splice(0, maxItems);
      try {
        await write(batch.map(({ item }) => item));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    running = false;
  }

  return (item) =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject });
      if (!running) void drain();
    });
}
