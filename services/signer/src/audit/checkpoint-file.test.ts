import { appendFileSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { allHeadsHash, checkpointHash, checkpointText, FIRST_PREVIOUS_HASH } from "./checkpoint.ts";
import { CheckpointForkError, checkpointLine, openCheckpointFile } from "./checkpoint-file.ts";

const checkpointAfter = (sequence: number, previousHash: string) => {
  const heads = { chainCount: 0, headsHash: allHeadsHash([]), heads: [], closed: [] };
  const text = checkpointText({ sequence, time: new Date(0), previousHash, keyVersion: 1, ...heads });
  return { text, signature: "00" };
};

it("goes on behind the last whole line after a write that failed half-way, for want of space, say", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "checkpoint-file-")), "checkpoints");
  const first = checkpointAfter(1, FIRST_PREVIOUS_HASH);
  const second = checkpointAfter(2, checkpointHash(first.text));
  const file = openCheckpointFile(path);
  await file.append([first]);
  appendFileSync(path, checkpointLine(second).slice(0, 40));
  await file.append([second]);
  expect(readFileSync(path, "utf8")).toBe(`${checkpointLine(first)}\n${checkpointLine(second)}\n`);
});

it("takes nothing that does not continue its last line", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "checkpoint-file-")), "checkpoints");
  const first = checkpointAfter(1, FIRST_PREVIOUS_HASH);
  const file = openCheckpointFile(path);
  await file.append([first]);
  for (const other of [checkpointAfter(2, FIRST_PREVIOUS_HASH), checkpointAfter(3, checkpointHash(first.text))])
    await expect(file.append([other])).rejects.toThrow(CheckpointForkError);
  expect(readFileSync(path, "utf8")).toBe(`${checkpointLine(first)}\n`);
  expect(file.last()).toEqual({ sequence: 1, hash: checkpointHash(first.text) });
});
