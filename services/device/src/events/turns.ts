/** Returns what runs at most `atOnce` pieces of work concurrently; the others wait in order. */
export function createTurns(atOnce: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running < atOnce) running += 1;
    else await new Promise<void>((resolve) => void waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The one that has waited longest runs next.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
