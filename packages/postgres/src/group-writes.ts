/** Writes one item; resolves once it is durable. Errors: those of the write that it shared. */
export type GroupedWrite<T> = (item: T) => Promise<void>;

interface Waiting<T> {
  item: T;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Items that arrive while a write is under way share the next one: one statement and one flush for all of them, and no waiting for company that
 * does not come.
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
