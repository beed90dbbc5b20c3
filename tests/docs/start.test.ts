import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf } from "./blocks.ts";

/** Ten times as long as it takes on an idle machine. */
const START_MS = 300_000;

const stateDir = join(mkdtempSync(join(tmpdir(), "countersign-start-")), "state");
const commands = ["apps", "local-stack"].flatMap(blocksOf).filter(({ language }) => language === "sh");
/** The documented `npm start` with all of its options and variables, on a place and ports of its own. */
const documented = commands.flatMap(({ text }) =>
  text.match(/^.*npm start.*$/gm)!.map((line) => line.replace(/ #.*/, "")),
);
const appOptions = documented.find((line) => line.split("--app").length > 2)!.replace("npm start -- ", "");
const variables = documented.map((line) => /^\w+=\S+/.exec(line)?.[0]).find((each) => each !== undefined)!;
const command = `${variables} exec npm start -- --free-ports --state-dir ${stateDir} ${appOptions}`;

let child: ChildProcess;
const printed: string[] = [];
let stack: Stack;

beforeAll(async () => {
  child = spawn("bash", ["-c", command], { cwd: root, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout! })) {
    printed.push(line);
    if (line.startsWith("ready in")) break;
  }
  expect(printed.at(-1)).toMatch(/^ready in/);
  stack = JSON.parse(readFileSync(join(stateDir, "stack.json"), "utf8"));
}, START_MS);
afterAll(() => {
  if (child.exitCode === null) process.kill(-child.pid!, "SIGKILL");
  rmSync(join(stateDir, ".."), { recursive: true, force: true });
});

it("the documented `npm start` prints what docs/apps.md shows", () => {
  expect(documented).toEqual(
    [
      "npm start -- --app http://localhost:5173",
      "npm start -- --app http://localhost:5173 --app dev.countersign.example:/callback",
      "npm start",
      "npm start -- --app http://localhost:5173",
      "GATEWAY_ALLOWED_ORIGINS=capacitor://localhost npm start",
    ].map((each) => expect.stringContaining(each)),
  );
  const output = blocksOf("apps").find(({ language }) => language === "");
  expect(printed.join("\n")).toContain(output!.text.trimEnd());
});

it("its gateway answers the app's origin and that of the variable, and no other", async () => {
  const allowed = async (origin: string) => {
    const headers = { origin, "access-control-request-method": "POST" };
    const answer = await fetch(`${stack.gateway}/auth/v1/signup`, { method: "OPTIONS", headers });
    return answer.headers.get("access-control-allow-origin");
  };
  const origins = [/--app (http\S+)/.exec(appOptions)![1]!, variables.replace(/^\w+=/, "")];
  for (const origin of origins) expect(await allowed(origin)).toBe(origin);
  expect(await allowed("http://localhost:5174")).toBeNull();
});

it("`npm run demo` plays a phone against it", async () => {
  expect(await run("npm", ["run", "demo", "--", "--state-dir", stateDir], { cwd: root })).toMatch(
    /sealed as [0-9a-f]{64}/,
  );
});

it("Ctrl-C stops it without a process left, and `npm run reset` deletes its state", { timeout: 60_000 }, async () => {
  process.kill(-child.pid!, "SIGINT");
  await once(child, "exit");
  const alive = Object.values(stack.processes).filter(({ pid }) => existsSync(`/proc/${pid}`));
  expect(alive).toEqual([]);
  await run("npm", ["run", "reset", "--", "--state-dir", stateDir], { cwd: root });
  expect(existsSync(stateDir)).toBe(false);
});
