import { execFile } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { blocksOf } from "../docs/blocks.ts";

const root = resolve(import.meta.dirname, "../..");
const example = join(root, "examples/expo");
/** The versions of everything that the example needs and this repository does not make. */
const tools = join(import.meta.dirname, "expo");
/** On the file system of the checkout: links instead of copies of 40,000 files. */
const folder = join(root, ".local/expo-example");
const app = join(folder, "app");
/** The first bytes of Hermes' bytecode. */
const HERMES = "c61fbc03c103191f";

const start = promisify(execFile);
async function run(command: string, args: readonly string[], cwd = app): Promise<string> {
  const env = { ...process.env, CI: "1", EXPO_NO_TELEMETRY: "1", EXPO_OFFLINE: "1", NODE_ENV: "production" };
  const { stdout } = await start(command, args, { cwd, env, maxBuffer: 64 * 1024 * 1024 }).catch((error) => {
    throw new Error(`${command} ${args.join(" ")}\n${error.stdout}${error.stderr}`);
  });
  return stdout;
}
const manifest = (path: string) => JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
const packages = Object.keys(manifest(example).dependencies).filter((name) => name.startsWith("@countersign/"));

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const built = join(folder, "built");
  await run(process.execPath, [join(root, "dev/src/main.ts"), "build:packages", "--out", built], root);
  cpSync(example, app, { recursive: true, filter: (path) => !path.includes("node_modules") });
  cpSync(join(tools, "package-lock.json"), join(app, "package-lock.json"));
  await run("cp", ["-Rl", join(tools, "node_modules"), join(app, "node_modules")]);
  // npm writes into this one: it must not be the tools' own.
  rmSync(join(app, "node_modules/.package-lock.json"));
  const tarballs = readdirSync(built).filter((name) =>
    packages.some((each) => name.startsWith(`${each.replace("@countersign/", "countersign-")}-`)),
  );
  const args = ["install", ...tarballs.map((name) => join(built, name)), "--ignore-scripts", "--prefer-offline"];
  await run("npm", [...args, "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"]);
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tsc = (project: string) => run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", project]);

it("the example names the versions that it is tested with", () => {
  const { dependencies, devDependencies } = manifest(example);
  const others = Object.entries<string>({ ...dependencies, ...devDependencies }).filter(
    ([name]) => !packages.includes(name),
  );
  expect(Object.fromEntries(others)).toEqual(manifest(tools).dependencies);
});

it("the example type checks with the packed packages", async () => {
  await tsc("tsconfig.json");
});

it("Metro bundles the example, and Hermes compiles the bundle", { timeout: 300_000 }, async () => {
  const out = join(folder, "exported");
  const args = ["node_modules/expo/bin/cli", "export", "--platform", "android", "--output-dir", out];
  await run(process.execPath, [...args, "--max-workers", "2"]);
  const files = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".hbc"));
  expect(files).toHaveLength(1);
  const bytecode = readFileSync(join(out, files[0]!));
  expect(bytecode.subarray(0, 8).toString("hex")).toBe(HERMES);
  expect(bytecode.includes("/sign/v1/cadence/transaction")).toBe(true);
});

it("the program of docs/react-native.md type checks with Expo's own modules", async () => {
  const blocks = blocksOf("react-native").filter(({ language }) => language === "ts");
  writeFileSync(join(app, "src/docs.ts"), blocks.map(({ text }) => text).join("\n"));
  await tsc("tsconfig.json");
});

it("docs/react-native.md installs what the example depends on", () => {
  const install = blocksOf("react-native").find(({ text }) => text.startsWith("npx expo install"));
  const named = install!.text.split("\n").flatMap((line) => /install (.*)/.exec(line)?.[1]?.split(" ") ?? []);
  const inRepository = named.filter((name) => name.includes("/dist/"));
  expect(inRepository).toHaveLength(1);
  const others = named.filter((name) => !inRepository.includes(name)).map((name) => name.replace(/(?<=.)@[\d.]+$/, ""));
  expect(Object.keys(manifest(example).dependencies)).toEqual(expect.arrayContaining(others));
});
