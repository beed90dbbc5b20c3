import { expect, it } from "vitest";
import { describeExit } from "./supervisor.ts";

const signer = { name: "signer", pid: 4711, logFile: "logs/signer.log" };

it.each([
  ["exit code 1", "signer (pid 4711) ended with exit code 1: see logs/signer.log"],
  ["signal SIGKILL", "signer (pid 4711) was killed by SIGKILL."],
  // V8 writes why it aborts, for example that its heap is full.
  ["signal SIGABRT", "signer (pid 4711) was killed by SIGABRT: see logs/signer.log"],
])("a child that ended with %s", (how, line) => {
  expect(describeExit(signer, how)).toBe(line);
});
