/** A value that may be replaced while the process runs, such as the content of a file. */
export interface Watched<T> {
  /** Returns the value in effect. Ask for it where it is used: a kept one does not change. */
  current(): T;
  /** Calls `listener` with each later value, once it is in effect. Returns how to end that. */
  onChange(listener: (value: T) => void): () => void;
  /** Looks at once whether there is a new value. */
  refresh(): void;
}

export const unchanging = <T>(value: T): Watched<T> => ({
  current: () => value,
  onChange: () => () => undefined,
  refresh: () => undefined,
});

/** Returns a watched value as it is, and another one as one that never changes. */
export const asWatched = <T extends object>(value: T | Watched<T>): Watched<T> =>
  "onChange" in value ? value : unchanging(value);

/** Makes `map` equal to `wanted`; readers of the map have the entries at once. */
export function updateMap<K, V>(map: Map<K, V>, wanted: ReadonlyMap<K, V>): void {
  for (const key of [...map.keys()]) if (!wanted.has(key)) map.delete(key);
  for (const [key, value] of wanted) map.set(key, value);
}
