import { closeSync, fstatSync, fsyncSync, ftruncateSync, mkdirSync, openSync, readSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { checkpointHash, FIRST_PREVIOUS_HASH, parseCheckpoint, type SignedCheckpoint } from "./checkpoint.ts";

/** A file of checkpoints, one a line, outside of the database. */
export interface CheckpointFile {
  /** The last line's checkpoint; sequence 0 where there is none. */
  last(): { readonly sequence: number; readonly hash: string };
  /** Goes on behind another checkpoint than the last line's: those between are in archives. */
  continueAt(last: { readonly sequence: number; readonly hash: string }): void;
  /**
   * Writes the lines and waits for the disk. Errors: CheckpointForkError where they do not continue the file.
   */
  append(checkpoints: readonly SignedCheckpoint[]): Promise<void>;
}

/** Thrown when the checkpoint to append belongs to another history than the file's. */
export class CheckpointForkError extends Error {
  override readonly name = "CheckpointForkError";
}

const line = z.object({ text: z.string(), signature: z.string() });
export const checkpointLine = ({ text, signature }: SignedCheckpoint): string => JSON.stringify({ text, signature });

/** Returns one line of a file; undefined where it is none. */
export function parseSignedLine(source: string): SignedCheckpoint | undefined {
  try {
    return line.parse(JSON.parse(source));
  } catch {
    return undefined;
  }
}

const READ_CHUNK_BYTES = 65_536;
const NEWLINE_BYTE = 10;

/** Returns the last whole line, and where it ends. */
function lastLine(descriptor: number): { text: string; end: number } {
  const { size } = fstatSync(descriptor);
  let tail = Buffer.alloc(0);
  for (let from = size; from > 0; ) {
    const length = Math.min(READ_CHUNK_BYTES, from);
    from -= length;
    const chunk = Buffer.alloc(length);
    readSync(descriptor, chunk, 0, length, from);
    tail = Buffer.concat([chunk, tail]);
    const end = tail.lastIndexOf(NEWLINE_BYTE);
    const start = end > 0 ? tail.lastIndexOf(NEWLINE_BYTE, end - 1) : -1;
    if (start >= 0 || (from === 0 && end >= 0)) {
      return { text: tail.subarray(start + 1, end).toString("utf8"), end: from + end + 1 };
    }
  }
  return { text: "", end: 0 };
}

/** Cuts off the part of a line that a crash or a full disk has left. Returns the last whole line. */
function cutPart(descriptor: number): string {
  const { text, end } = lastLine(descriptor);
  ftruncateSync(descriptor, end);
  return text;
}

/**
 * Opens or creates the file and its directory; only one process writes it. Errors: Error where the last line
 * is no checkpoint.
 */
export function openCheckpointFile(path: string): CheckpointFile {
  mkdirSync(dirname(path), { recursive: true });
  const descriptor = openSync(path, "a+", 0o640);
  let last = { sequence: 0, hash: FIRST_PREVIOUS_HASH };
  try {
    const text = cutPart(descriptor);
    fsyncSync(descriptor);
    if (text !== "") {
      const signed = parseSignedLine(text);
      const checkpoint = signed && parseCheckpoint(signed.text);
      if (!checkpoint) throw new Error(`the last line of ${path} is no checkpoint`);
      last = { sequence: checkpoint.sequence, hash: checkpointHash(signed.text) };
    }
  } finally {
    closeSync(descriptor);
  }

  return {
    last: () => last,
    continueAt(other) {
      last = other;
    },
    async append(checkpoints) {
      let end = last;
      for (const { text } of checkpoints) {
        const checkpoint = parseCheckpoint(text);
        if (checkpoint?.sequence !== end.sequence + 1 || checkpoint.previousHash !== end.hash) {
          throw new CheckpointForkError(`checkpoint ${end.sequence + 1} of the database does not continue ${path}`);
        }
        end = { sequence: checkpoint.sequence, hash: checkpointHash(text) };
      }
      const file = await open(path, "a+", 0o640);
      try {
        cutPart(file.fd);
        await file.writeFile(checkpoints.map((each) => `${checkpointLine(each)}\n`).join(""));
        await file.sync();
      } finally {
        await file.close();
      }
      last = end;
    },
  };
}
