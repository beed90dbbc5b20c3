import type { Watched } from "@countersign/core";

/** Reads a file. Errors: those of node:fs. */
export type ReadFile = (path: string) => Buffer;

/** The content of one file or of several that belong together. */
export interface WatchedFile<T> extends Watched<T> {
  /**
   * Requires something of the value in effect and of each later one. Errors: those of `check`, for the first.
   */
  require(check: (value: T) => void): void;
}

/** Loads files, and again when they change. */
export interface Files {
  /**
   * Watches the files that `load` reads. `name` is a label of metrics. A value that `load` makes of changed
   * files takes effect at once; where it throws, the old value stays. Errors: those of the first `load`.
   */
  watch<T>(name: string, load: (read: ReadFile) => T): WatchedFile<T>;
  /** As `watch`, for a value that takes time to make. */
  open<T>(name: string, load: (read: ReadFile) => Promise<T>): Promise<WatchedFile<T>>;
}
