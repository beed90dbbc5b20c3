import type { Watched } from "@countersign/core";

/** A watched value that a test sets. */
export function settable<T>(value: T): Watched<T> & { set(value: T): void } {
  const listeners = new Set<(value: T) => void>();
  let current = value;
  return {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    refresh: () => undefined,
    set(next) {
      current = next;
      for (const listener of listeners) listener(next);
    },
  };
}
