import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Logger, unchanging } from "@countersign/core";
import { Counter, Gauge } from "prom-client";
import { ConfigError } from "./config.ts";
import type { Files, ReadFile, WatchedFile } from "./files.ts";
import type { Metrics } from "./metrics.ts";
import { startPeriodicJob } from "./periodic-job.ts";

export interface FilesOptions {
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, "registry">;
  /** Milliseconds between two looks at the files. Default 1000. */
  readonly intervalMs?: number;
}

interface Reading {
  readonly paths: readonly string[];
  readonly hash: string;
}

const missing = (error: unknown): Buffer => Buffer.from(`no content: ${(error as NodeJS.ErrnoException).code}`);

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    return missing(error);
  }
}

function hashOf(contents: Iterable<Buffer>): string {
  const hash = createHash("sha256");
  for (const content of contents) hash.update(createHash("sha256").update(content).digest());
  return hash.digest("base64");
}

const isSame = ({ paths, hash }: Reading): boolean => hashOf(paths.map(contentOf)) === hash;

/** Returns how to read files, and what was read with it so far. */
function recordedReads() {
  const contents = new Map<string, Buffer>();
  const read: ReadFile = (path) => {
    try {
      const content = readFileSync(path);
      contents.set(path, content);
      return content;
    } catch (error) {
      contents.set(path, missing(error));
      throw error;
    }
  };
  return { read, reading: (): Reading => ({ paths: [...contents.keys()], hash: hashOf(contents.values()) }) };
}

/** Milliseconds until a value that takes time is made again of the same files: a key service may be away. */
const RETRY_MS = 30_000;

interface Effects {
  onLoaded(name: string): void;
  /** The content in use is back after one that was refused. */
  onRestored(name: string): void;
  onRefused(name: string, error: unknown): void;
  onListenerFailed(name: string, error: unknown): void;
}

class Entry<T> implements WatchedFile<T> {
  readonly #name: string;
  readonly #load: (read: ReadFile) => T | Promise<T>;
  readonly #effects: Effects;
  readonly #listeners = new Set<(value: T) => void>();
  readonly #checks: ((value: T) => void)[] = [];
  #value: T;
  #inUse: Reading;
  /** Files whose value was not taken, and why. */
  #failed: (Reading & { readonly error: unknown; readonly retryAt: number; isReported: boolean }) | undefined;
  #isRefused = false;
  #loading = false;

  constructor(name: string, load: (read: ReadFile) => T | Promise<T>, first: T, inUse: Reading, effects: Effects) {
    this.#name = name;
    this.#load = load;
    this.#value = first;
    this.#inUse = inUse;
    this.#effects = effects;
  }

  current(): T {
    return this.#value;
  }

  onChange(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  require(check: (value: T) => void): void {
    check(this.#value);
    this.#checks.push(check);
  }

  readonly refresh = (): void => void this.look();

  /** Tries files again that were not valid: they may be, together with others that have changed. */
  retry(): void {
    this.#failed = undefined;
  }

  look(): void | Promise<void> {
    if (this.#loading) return;
    if (isSame(this.#inUse)) {
      if (this.#isRefused) this.#effects.onRestored(this.#name);
      this.#isRefused = false;
      this.#failed = undefined;
      return;
    }
    if (this.#failed !== undefined && isSame(this.#failed)) {
      // At the first look, the files may have been between two versions.
      if (!this.#failed.isReported) this.#effects.onRefused(this.#name, this.#failed.error);
      this.#failed.isReported = true;
      this.#isRefused = true;
      if (performance.now() < this.#failed.retryAt) return;
    }
    const { read, reading } = recordedReads();
    const take = (value: T): void => this.#take(value, reading());
    const keep = (error: unknown, retryAt = Number.POSITIVE_INFINITY): void => {
      const { hash, isReported = false } = this.#failed ?? {};
      const failed = reading();
      this.#failed = { ...failed, error, retryAt, isReported: isReported && hash === failed.hash };
    };
    try {
      const value = this.#load(read);
      if (!(value instanceof Promise)) return take(value);
      this.#loading = true;
      return value
        .then(take)
        .catch((error: unknown) => keep(error, performance.now() + RETRY_MS))
        .finally(() => {
          this.#loading = false;
        });
    } catch (error) {
      keep(error);
    }
  }

  #take(value: T, reading: Reading): void {
    for (const check of this.#checks) check(value);
    this.#value = value;
    this.#inUse = reading;
    this.#failed = undefined;
    this.#isRefused = false;
    this.#effects.onLoaded(this.#name);
    for (const listener of this.#listeners) {
      try {
        listener(value);
      } catch (error) {
        this.#effects.onListenerFailed(this.#name, error);
      }
    }
  }
}

/**
 * Starts to watch files by their content: mounted files of Kubernetes change where a link moves. A new
 * content that is not valid changes nothing; the log and a metric show it.
 */
export function watchFiles({ logger, metrics, intervalMs = 1_000 }: FilesOptions): Files & { close(): Promise<void> } {
  const registers = [metrics.registry];
  const loaded = new Gauge({
    name: "countersign_file_loaded_timestamp_seconds",
    help: "When the files' content that is in use was loaded",
    labelNames: ["file"] as const,
    registers,
  });
  const isRefused = new Gauge({
    name: "countersign_file_refused",
    help: "1 while the files have a content that is not valid; the old one stays in use",
    labelNames: ["file"] as const,
    registers,
  });
  const changes = new Counter({
    name: "countersign_file_changes_total",
    help: "Changes of files that took effect, or were refused",
    labelNames: ["file", "outcome"] as const,
    registers,
  });
  const entries = new Map<string, Entry<never>>();
  const inUse = (file: string): void => {
    loaded.set({ file }, Date.now() / 1_000);
    isRefused.set({ file }, 0);
  };
  const effects: Effects = {
    onLoaded(file) {
      inUse(file);
      changes.inc({ file, outcome: "loaded" });
      logger.info({ event: "file-loaded", file }, "a changed file is in effect");
      for (const entry of entries.values()) entry.retry();
    },
    onRestored: (file) => isRefused.set({ file }, 0),
    onRefused(file, error) {
      isRefused.set({ file }, 1);
      changes.inc({ file, outcome: "refused" });
      // Other errors may contain a part of the file.
      const err = error instanceof ConfigError ? error : new Error(`${(error as Error).name}: cannot be loaded`);
      logger.error({ err, event: "file-refused", file }, "a changed file is not valid; the old content stays in use");
    },
    onListenerFailed(file, err) {
      isRefused.set({ file }, 1);
      logger.error({ err, event: "file-not-applied", file }, "a changed file could not be applied completely");
    },
  };
  function add<T>(name: string, entry: Entry<T>): WatchedFile<T> {
    entries.set(name, entry as unknown as Entry<never>);
    inUse(name);
    for (const outcome of ["loaded", "refused"]) changes.inc({ file: name, outcome }, 0);
    return entry;
  }
  const job = startPeriodicJob({
    job: "files",
    intervalMs,
    logger,
    run: async () => {
      for (const entry of entries.values()) void entry.look();
    },
  });
  return {
    watch(name, load) {
      const { read, reading } = recordedReads();
      return add(name, new Entry(name, load, load(read), reading(), effects));
    },
    async open(name, load) {
      const { read, reading } = recordedReads();
      return add(name, new Entry(name, load, await load(read), reading(), effects));
    },
    close: () => job.close(),
  };
}

/** Reads files once: for commands and tests. */
export const readOnce: Pick<Files, "watch"> = {
  watch: (_name, load) => {
    const value = load(readFileSync);
    return { ...unchanging(value), require: (check) => check(value) };
  },
};
