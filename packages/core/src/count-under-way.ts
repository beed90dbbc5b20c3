/**
 * Creates a counter of what is under way in this process, by id. `begin` counts one more until the returned
 * function is called; called again, it changes nothing. Ids with nothing under way are not kept.
 */
export function countUnderWay() {
  const counts = new Map<string, number>();
  const of = (id: string): number => counts.get(id) ?? 0;
  const begin = (id: string): (() => void) => {
    counts.set(id, of(id) + 1);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const rest = of(id) - 1;
      if (rest > 0) counts.set(id, rest);
      else counts.delete(id);
    };
  };
  return { of, begin };
}
