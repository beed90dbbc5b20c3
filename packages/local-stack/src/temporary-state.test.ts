import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { isRunning } from "./is-running.ts";

/** Starts a child in a temporary state and prints both; then stops it, or fails once the signal has come. */
const PROGRAM = `
  import { join } from "node:path";
  import { startChild } from ${JSON.stringify(new URL("child.ts", import.meta.url).href)};
  import { inTemporaryState } from ${JSON.stringify(new URL("temporary-state.ts", import.meta.url).href)};
  await inTemporaryState("test", async (stateDir) => {
    const args = ["-e", "setInterval(() => {}, 1000)"];
    const child = await startChild({ name: "idle", command: process.execPath, args, logFile: join(stateDir, "log") });
    console.log(JSON.stringify({ stateDir, pid: child.pid }));
    if (process.argv[1] === "stop") await child.stop();
    else process.once(process.argv[1], () => { throw new Error("the database is gone"); });
    await child.exited;
  });`;

it.each(["stop", "SIGINT", "SIGTERM"] as const)("leaves no child and no file behind: %s", async (end) => {
  const program = spawn(process.execPath, ["--input-type=module-typescript", "-e", PROGRAM, end]);
  const exited = new Promise<number | null>((resolve) => program.once("exit", resolve));
  const line = await new Promise<Buffer>((resolve) => program.stdout.once("data", resolve));
  const { stateDir, pid } = JSON.parse(line.toString()) as { stateDir: string; pid: number };
  if (end !== "stop") {
    expect([existsSync(stateDir), isRunning(pid)]).toEqual([true, true]);
    program.kill(end);
  }
  expect(await exited).toBe(end === "stop" ? 0 : 130);
  expect([existsSync(stateDir), isRunning(pid)]).toEqual([false, false]);
});
