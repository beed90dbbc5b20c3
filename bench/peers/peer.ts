import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Failure } from "@countersign/build/fail.ts";
import { cacheDir } from "@countersign/build/paths.ts";
import { type Child, logTail } from "@countersign/local-stack/child.ts";

/** A running peer. */
export interface Peer {
  /** Base URL. */
  url: string;
  child: Child;
}

/** The parts that a peer is started with. */
export interface PeerOptions {
  /** An empty database of its own. */
  databaseUrl: string;
  /** A directory for its files. */
  directory: string;
  say(line: string): void;
}

const START_MS = 60_000;

/** Returns a directory of the cache, where peers are built. */
export function buildDirectory(name: string): string {
  const directory = join(cacheDir(), "peers", name);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/** Waits until `path` answers with any status. Errors: Failure with the log's end. */
export async function untilAnswers({ url, child }: Peer, path: string): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    const answer = await fetch(url + path).catch(() => undefined);
    await answer?.text();
    if (answer !== undefined) return;
    if (!child.running() || performance.now() > deadline) {
      throw new Failure(`${child.name} did not start:\n${logTail(child.logFile, 15)}`);
    }
    await sleep(100);
  }
}

/** Sends JSON and returns the answer's JSON, {} for an empty one. Throws on a status above 299. */
export async function sendJson<Answer>(
  method: "GET" | "POST" | "PUT",
  url: string,
  body?: unknown,
  token?: string,
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text.slice(0, 300)}`);
  return (text === "" ? {} : JSON.parse(text)) as Answer;
}
