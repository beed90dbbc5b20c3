import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { command, runCommand, UsageError } from "./command.ts";

const seen: unknown[] = [];
const add = command({
  usage: "keys add --chain <name> [file]",
  about: "Adds a key.",
  options: { chain: { type: "string" } },
  positionals: true,
  async run({ values, positionals }) {
    if (values.chain === undefined) throw new UsageError(this.usage);
    seen.push([values.chain, positionals]);
    return 3;
  },
});
const list = command({
  usage: "keys list",
  about: "Lists keys.",
  options: {},
  run: async () => void seen.push("list"),
});

const verify = command({
  usage: "audit verify",
  about: "Verifies the log.",
  options: {},
  run: async () => void seen.push("verify"),
});

const out: string[] = [];
const err: string[] = [];
const { argv, exitCode } = process;
beforeEach(() => {
  for (const list of [seen, out, err]) list.length = 0;
  vi.spyOn(console, "log").mockImplementation((line) => void out.push(line));
  vi.spyOn(console, "error").mockImplementation((line) => void err.push(line));
});
afterEach(() => {
  process.argv = argv;
  process.exitCode = exitCode;
  vi.restoreAllMocks();
});

async function run(...args: string[]) {
  process.argv = ["node", "cli.ts", ...args];
  process.exitCode = undefined;
  await runCommand("signer", [add, list, verify]);
  return process.exitCode ?? 0;
}

it("runs the command that is named, with its options, and returns its exit code", async () => {
  expect(await run("keys", "add", "--chain", "flow", "x")).toBe(3);
  expect(seen).toEqual([["flow", ["x"]]]);
  seen.length = 0;
  expect(await run("keys", "list")).toBe(0);
  expect(seen).toEqual(["list"]);
});

it.each([["--help"], ["-h"], ["nothing", "--help"]])("lists all commands for %s", async (...args) => {
  expect(await run(...args)).toBe(0);
  expect(out.join("\n")).toContain("signer keys add --chain <name> [file]\n    Adds a key.\nsigner keys list");
});

it("lists the commands that begin with the word before --help", async () => {
  expect(await run("keys", "--help")).toBe(0);
  expect(out.map((line) => line.split("\n")[0])).toEqual(["signer keys add --chain <name> [file]", "signer keys list"]);
});

it("shows one command's usage for its --help, and runs nothing", async () => {
  expect(await run("keys", "list", "--help")).toBe(0);
  expect(out).toEqual(["signer keys list\n    Lists keys."]);
  expect(seen).toEqual([]);
});

it.each([
  [["keys", "add", "--chain", "flow", "--force"], /^Unknown option '--force'[\s\S]*usage: signer keys add --chain/],
  [["keys", "list", "x"], /^Unexpected argument 'x'[\s\S]*usage: signer keys list$/],
  [["keys", "add", "--chain", "flow", "-h"], /^Unknown option '-h'/],
  [["keys", "add"], /^usage: signer keys add --chain <name> \[file\]$/],
  [["keys"], /^no command is named `keys`\nusage: signer keys add .*\n {7}signer keys list$/],
  [["keys", "lsit", "x"], /^no command is named `keys lsit`\nusage: signer keys add .*\n {7}signer keys list$/],
  [["kyes"], /^no command is named `kyes`\nusage: signer keys add .*\n.*\n {7}signer audit verify$/],
  [[], /^usage: signer keys add .*\n.*\n {7}signer audit verify$/],
])("refuses %j with the usage", async (args, message) => {
  expect(await run(...args)).toBe(2);
  expect(err.join("\n")).toMatch(message);
  expect(seen).toEqual([]);
});

it("shows an error without what Prisma says of the call's arguments", async () => {
  const failing = command({
    usage: "fail",
    about: "Fails.",
    options: {},
    run: async () => {
      throw new Error(
        'Invalid `prisma.identity.findMany()` invocation:\n\n{ where: { email: "ada@example.com" } }\n\nUnknown field',
      );
    },
  });
  process.argv = ["node", "cli.ts", "fail"];
  await runCommand("auth", [failing]);
  expect(process.exitCode).toBe(2);
  expect(err).toEqual(["Invalid `prisma.identity.findMany()` invocation\n\nUnknown field"]);
});
