import { readFile } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import { AppError } from "@countersign/core";
import { notUnderstood, type ScriptFacts } from "../policy/script/script-facts.ts";
import type { ParserAnswer, ParserRequest } from "./parser-worker.ts";

declare const WebAssembly: { compile(source: Uint8Array): Promise<object> };

/** Where the set-up and the image build leave the parser. */
const PARSER_DIRECTORY = join(import.meta.dirname, "../../cadence-parser/dist");

export interface ParserPoolOptions {
  /** Holds cadence-parser.wasm and wasm_exec.js. */
  readonly directory?: string;
  /** The most at a time. One is always there; another one starts when a script waits. */
  readonly workers?: number;
  /** A worker beside the first one that had nothing to do for so long ends: each takes some 40 MiB. */
  readonly idleMs?: number;
  /** A script that takes longer costs its worker. */
  readonly timeLimitMs?: number;
  /** Scripts of all senders that may wait; more are rejected. */
  readonly maxQueue?: number;
  /** How long nothing is read for a sender whose script cost a worker. */
  readonly pauseMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly monotonicMs?: () => number;
  /** Called when a worker was replaced, with the reason. */
  readonly onReplaced?: (why: string) => void;
}

export interface ParserPool {
  /**
   * Reads a script. Senders take turns, one script of each at a time. Errors: RateLimited when too many
   * scripts wait, or for `pauseMs` after a script of this sender cost a worker.
   */
  facts(script: string, sender: string): Promise<ScriptFacts>;
  /** Workers that run or start. */
  size(): number;
  close(): Promise<void>;
}

interface Job {
  readonly script: string;
  readonly sender: string;
  done(facts: ScriptFacts): void;
  fail(error: AppError): void;
}

/**
 * A thread without an environment does not use the process's compile cache, and would load Node's type
 * stripper, 20 MiB. Threads are ended by force, so they write what they compiled as soon as they are ready.
 */
const BOOT = `const { compileCache, entry } = require("node:worker_threads").workerData;
const { enableCompileCache, flushCompileCache } = require("node:module");
if (compileCache) enableCompileCache(compileCache);
import(entry).then(() => flushCompileCache());`;
const ENTRY = new URL("./parser-worker.ts", import.meta.url).href;

/** Longer scripts are rejected before any work: neither posted to a worker nor hashed into the cache. */
const MAX_SCRIPT_LENGTH = 64 * 1024;
const RESTART_MS = 1000;
const TOO_SLOW = "the script takes too long to understand";

/** Runs jobs in turns of their senders, one of each at a time: nobody waits behind all of another's. */
function createFairQueue() {
  /** In the order of their turns. */
  const waiting = new Map<string, Job[]>();
  const busy = new Set<string>();
  const nextSender = () => [...waiting.keys()].find((sender) => !busy.has(sender));
  return {
    size: () => [...waiting.values()].reduce((count, jobs) => count + jobs.length, 0),
    add(job: Job): void {
      const jobs = waiting.get(job.sender);
      if (jobs) jobs.push(job);
      else waiting.set(job.sender, [job]);
    },
    hasNext: () => nextSender() !== undefined,
    next(): Job | undefined {
      const sender = nextSender();
      if (sender === undefined) return undefined;
      const [job, ...others] = waiting.get(sender) ?? [];
      if (others.length > 0) waiting.set(sender, others);
      else waiting.delete(sender);
      busy.add(sender);
      return job;
    },
    /** The sender's next job comes after all that wait now. */
    finished({ sender }: Job): void {
      busy.delete(sender);
      const others = waiting.get(sender);
      if (!others) return;
      waiting.delete(sender);
      waiting.set(sender, others);
    },
    remove(sender: string): Job[] {
      const jobs = waiting.get(sender) ?? [];
      waiting.delete(sender);
      return jobs;
    },
    clear(): Job[] {
      const all = [...waiting.values()].flat();
      waiting.clear();
      return all;
    },
  };
}

/**
 * Starts worker threads with the Cadence parser: a script may cost the worker that reads it, and nothing
 * else. Workers that break or take too long are replaced. Resolves once the first worker is ready. Errors:
 * those of reading and compiling the module.
 */
export async function startParserPool(options: ParserPoolOptions = {}): Promise<ParserPool> {
  const { directory = PARSER_DIRECTORY, workers = 2, timeLimitMs = 1000, maxQueue = 256 } = options;
  const { idleMs = 60_000, pauseMs = 60_000, monotonicMs = () => performance.now() } = options;
  const [wasm, glue] = await Promise.all([
    readFile(join(directory, "cadence-parser.wasm")),
    readFile(join(directory, "wasm_exec.js"), "utf8"),
  ]);
  // Compiled once: the workers share it.
  const module = await WebAssembly.compile(wasm);
  // Node names a directory of this version below the one that it was given.
  const cacheOfVersion = getCompileCacheDir();
  const compileCache = cacheOfVersion === undefined ? undefined : dirname(cacheOfVersion);
  const queue = createFairQueue();
  /** Senders whose script cost a worker, and until when nothing of theirs is read. */
  const paused = new Map<string, number>();
  const idle: ((job: Job) => void)[] = [];
  const running = new Set<Worker>();
  let restarting = 0;
  let closed = false;
  let nextId = 0;

  const work = () => {
    // The worker that was busy last, so that the others may end.
    while (queue.hasNext() && idle.length > 0) idle.pop()?.(queue.next() as Job);
    if (queue.hasNext() && running.size + restarting < workers) restart();
  };

  const finish = (job: Job, facts: ScriptFacts) => {
    queue.finished(job);
    job.done(facts);
  };

  const pausedError = (leftMs: number) =>
    new AppError("RateLimited", {
      detail: "a script of this account took too long to read; its new scripts are read again later",
      retryAfterSeconds: Math.ceil(leftMs / 1000),
    });

  const pause = (sender: string) => {
    const now = monotonicMs();
    for (const [other, until] of paused) if (until <= now) paused.delete(other);
    paused.set(sender, now + pauseMs);
    for (const job of queue.remove(sender)) job.fail(pausedError(pauseMs));
  };

  const startWorker = (): Promise<void> =>
    new Promise((ready, failed) => {
      const worker = new Worker(BOOT, {
        eval: true,
        workerData: { module, glue, compileCache, entry: ENTRY },
        // No environment and no command line: what reads hostile text knows nothing worth stealing.
        env: {},
        argv: [],
        execArgv: [],
        stdout: true,
        stderr: true,
        resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 },
      });
      running.add(worker);
      worker.unref();
      let current: { id: number; job: Job; timer: NodeJS.Timeout } | undefined;
      let rest: NodeJS.Timeout | undefined;
      let readyOnce = false;
      let ended = false;

      const take = (job: Job) => {
        clearTimeout(rest);
        nextId += 1;
        const timer = setTimeout(() => end(TOO_SLOW), timeLimitMs);
        current = { id: nextId, job, timer };
        worker.postMessage({ id: nextId, script: job.script } satisfies ParserRequest);
      };
      const free = () => {
        idle.push(take);
        rest = setTimeout(() => running.size > 1 && leave(), idleMs).unref();
        work();
      };
      const leave = () => {
        ended = true;
        running.delete(worker);
        const at = idle.indexOf(take);
        if (at >= 0) idle.splice(at, 1);
        clearTimeout(rest);
        clearTimeout(current?.timer);
        void worker.terminate();
      };
      const end = (why: string) => {
        if (ended) return;
        leave();
        if (current) {
          pause(current.job.sender);
          finish(current.job, notUnderstood(why));
          current = undefined;
        }
        if (!readyOnce) failed(new Error(`the Cadence parser does not start: ${why}`));
        else if (!closed) {
          options.onReplaced?.(why);
          restart();
          work();
        }
      };

      worker.on("message", ({ id, facts }: ParserAnswer) => {
        if (id === 0) {
          readyOnce = true;
          ready();
          return free();
        }
        if (!facts || current?.id !== id) return end("the parser answered something else");
        clearTimeout(current.timer);
        const { job } = current;
        current = undefined;
        finish(job, facts);
        free();
      });
      worker.on("error", () => end("the script breaks the parser"));
      worker.on("exit", () => end("the script breaks the parser"));
    });

  const restart = () =>
    void startWorker().catch(() => {
      options.onReplaced?.("a new worker does not start");
      restarting += 1;
      const again = () => {
        restarting -= 1;
        if (!closed) restart();
      };
      setTimeout(again, RESTART_MS).unref();
    });

  await startWorker();

  return {
    async facts(script, sender) {
      if (script.length > MAX_SCRIPT_LENGTH) return notUnderstood("the script is too long");
      const pauseLeftMs = (paused.get(sender) ?? 0) - monotonicMs();
      if (pauseLeftMs > 0) throw pausedError(pauseLeftMs);
      if (closed || queue.size() >= maxQueue)
        throw new AppError("RateLimited", { detail: "too many new scripts", retryAfterSeconds: 1 });
      return new Promise((done, fail) => {
        queue.add({ script, sender, done, fail });
        work();
      });
    },
    size: () => running.size,
    async close() {
      closed = true;
      for (const job of queue.clear()) job.done(notUnderstood("the signer stops"));
      await Promise.all([...running].map((worker) => worker.terminate()));
    },
  };
}
