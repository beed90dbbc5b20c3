import { execFile } from "node:child_process";
import { createHash, verify } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { runInThisContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { membersOf, missingOf, programsOf, readmesOf } from "./examples.ts";

/** The most that the whole client may be in a browser, gzipped. */
const MAX_CLIENT_BYTES = 35_000;
const PACKAGES = ["client", "fcl", "flow", "keys", "react", "react-native", "testing"];
/** Fewer examples, or fewer that run, were a fault of this test. */
const MIN_EXAMPLES = 250;
const MIN_RUNNING = 100;
/** Words of tests and of the development login, which only `testing` has. */
const NOT_INSIDE = { testing: /vitest|fast-check/, others: /vitest|fast-check|DevelopmentProvider|CookieJar/ };
const CHALLENGE = "00112233445566778899aabbccddeeff";

const root = resolve(import.meta.dirname, "../..");
const tools = join(import.meta.dirname, "node_modules");
const folder = mkdtempSync(join(tmpdir(), "countersign-packages-"));
const built = join(folder, "built");
const app = join(folder, "app");
const nodeOf = (version: number) => join(tools, `node-${version}/bin/node`);
const nodes = { 20: nodeOf(20), 22: nodeOf(22), 24: process.execPath, 26: nodeOf(26) };

const start = promisify(execFile);
/** Runs a program in the app's folder and returns its output; it has to end with 0. */
async function run(command: string, args: readonly string[], cwd = app): Promise<string> {
  return (await runAll(command, args, cwd)).stdout;
}
async function runAll(command: string, args: readonly string[], cwd: string) {
  return start(command, args, { cwd, maxBuffer: 64 * 1024 * 1024 }).catch((error) => {
    throw new Error(`${command} ${args.join(" ")}\n${error.stdout}${error.stderr}`);
  });
}
/** Installs with the oldest Node that the packages run on; returns the warnings. */
async function npmInstall(args: readonly string[]): Promise<string> {
  const npm = join((await run("npm", ["root", "--global"], folder)).trim(), "npm/bin/npm-cli.js");
  return (await runAll(nodes[20], [npm, "install", ...args, "--no-audit", "--no-fund"], app)).stderr;
}
let installWarnings: string;
/** Runs a tool with Node 24. */
const tool = (path: string, args: readonly string[]) => run(process.execPath, [join(tools, path), ...args]);

/** A server with the two operations of a sign-in, which checks the signature. */
const seen = { publicKey: "" };
const server = createServer(async (request, response) => {
  let text = "";
  for await (const chunk of request) text += chunk;
  const body = JSON.parse(text);
  const answer = (status: number, value: object) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  if (request.url === "/auth/v1/signin/challenge") {
    if (body.request.chainName !== "flow-emulator") return answer(400, { error: "UnknownChain", status: 400 });
    seen.publicKey = body.publicKey;
    return answer(200, { challengeData: CHALLENGE, expiresAt: "2030-01-01T00:00:00.000Z" });
  }
  const part = (from: number) => Buffer.from(seen.publicKey.slice(from, from + 64), "hex").toString("base64url");
  const key = { format: "jwk", key: { kty: "EC", crv: "P-256", x: part(0), y: part(64) } } as const;
  const signature = Buffer.from(body.deviceKey.signature, "hex");
  const ok = verify("sha256", Buffer.from(CHALLENGE, "hex"), { ...key, dsaEncoding: "ieee-p1363" }, signature);
  if (!ok) return answer(401, { error: "InvalidSignature", status: 401 });
  const id = createHash("sha256").update(seen.publicKey).digest("hex");
  answer(200, { account: { id }, transaction: {}, credentials: { accessToken: "a", refreshToken: "r" } });
});
let baseUrl: string;

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await run(process.execPath, [join(root, "dev/src/main.ts"), "build:packages", "--out", built], root);
  cpSync(join(import.meta.dirname, "app"), app, { recursive: true });
  writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
  installWarnings = await npmInstall([...tarballs(), "@types/node@24.19.2", "@types/react@19.3.0"]);
}, 180_000);
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const tarballs = () => readdirSync(built).flatMap((name) => (name.endsWith(".tgz") ? [join(built, name)] : []));
const installed = (name: string) => join(app, "node_modules/@countersign", name);

/** Checks what `signIn` of app/sign-in.js returned. */
function expectSignedIn(result: { publicKey: string; account: string }): void {
  expect(result).toMatchObject({ verified: true, sequenceNumber: "7", refused: "UnknownChain" });
  expect(result.account).toBe(createHash("sha256").update(result.publicKey).digest("hex"));
}

describe("the packed packages", () => {
  it("are all that was built", () => {
    expect(readdirSync(join(app, "node_modules/@countersign"))).toEqual(PACKAGES);
    expect(tarballs()).toHaveLength(PACKAGES.length);
  });

  it("install on Node 20 without a warning about it, or about a package's own", () => {
    expect(installWarnings).not.toMatch(/EBADENGINE|deprecated|ERESOLVE/);
  });

  it.each(PACKAGES)("%s has built files, a licence and a README, and nothing of the tests", (name) => {
    const files = readdirSync(installed(name), { recursive: true, encoding: "utf8" })
      .filter((file) => statSync(join(installed(name), file)).isFile())
      .filter((file) => !/^dist\/[\w-]+\.(js|d\.ts)$/.test(file));
    expect(files.sort()).toEqual(["LICENSE", "README.md", "package.json"]);
    const manifest = JSON.parse(readFileSync(join(installed(name), "package.json"), "utf8"));
    expect(manifest).toMatchObject({ type: "module", license: "Apache-2.0", sideEffects: false, files: ["dist"] });
    expect(manifest.description.length).toBeGreaterThan(20);
    expect(manifest.engines).toEqual({ node: ">=20.19.0" });
    expect(Object.keys(manifest)).not.toContain("private");
    expect(Object.keys(manifest)).not.toContain("devDependencies");
    expect(readFileSync(join(installed(name), "README.md"), "utf8")).toMatch(
      new RegExp(`npm install (--save-dev )?@countersign/${name}\n`),
    );
    for (const file of readdirSync(join(installed(name), "dist")))
      expect(readFileSync(join(installed(name), "dist", file), "utf8"), file).not.toMatch(
        name === "testing" ? NOT_INSIDE.testing : NOT_INSIDE.others,
      );
  });

  it.each(PACKAGES)("%s: publint has nothing to say", async (name) => {
    expect(await tool("publint/src/cli.js", ["run", join(built, name), "--strict"])).toContain("All good!");
  });

  it.each(PACKAGES)("%s: the types are the right ones for every way to import them", async (name) => {
    const [tarball] = tarballs().filter((path) => path.includes(`countersign-${name}-`));
    // ESM only: Node's older `require` and TypeScript's node10 resolution know no packages like that.
    const said = await tool("@arethetypeswrong/cli/dist/index.js", [tarball!, "--profile", "esm-only"]);
    expect(said).toContain(`@countersign/${name}`);
  });
});

describe.each(Object.entries(nodes))("Node %s", (version, node) => {
  it("loads every entry point, signs, verifies, and signs in at a server", async () => {
    const result = JSON.parse(await run(node, ["run-node.mjs", baseUrl]));
    expect(result.version).toMatch(new RegExp(`^${version}\\.`));
    const forNode = ["client", "flow", "keys"].map((name) => `@countersign/${name}/node`);
    const entries = [...PACKAGES.map((name) => `@countersign/${name}`), ...forNode];
    expect(Object.keys(result.entries).sort()).toEqual(entries.sort());
    for (const count of Object.values(result.entries)) expect(count).toBeGreaterThan(0);
    expect(result.verified).toBe(true);
    expectSignedIn(result.signedIn);
  });
});

describe.each([
  ["5", join(tools, "typescript/bin/tsc")],
  ["7", join(root, "node_modules/typescript/bin/tsc")],
])("TypeScript %s", (_version, tsc) => {
  const strict = { strict: true, skipLibCheck: false, noEmit: true, target: "es2022" };
  const browser = { lib: ["es2022", "dom", "dom.iterable"], types: [] };
  const program = { lib: ["es2022"], types: ["node"] };

  it.each([
    ["nodenext", "nodenext"],
    ["bundler", "preserve"],
  ])("checks an app with the resolution of %s", async (moduleResolution, module) => {
    for (const [file, where] of Object.entries({ "types.ts": browser, "types-node.ts": program })) {
      const config = `tsconfig.${moduleResolution}.${file}.json`;
      const compilerOptions = { ...strict, ...where, module, moduleResolution };
      writeFileSync(join(app, config), JSON.stringify({ compilerOptions, files: [file] }));
      await run(process.execPath, [tsc, "-p", config]);
    }
  });
});

describe("in a browser", () => {
  it("Vite bundles the client without code of Node", async () => {
    await tool("vite/bin/vite.js", ["build", "--logLevel", "warn"]);
    const [bundle = ""] = readdirSync(join(app, "dist/assets"));
    const text = readFileSync(join(app, "dist/assets", bundle), "utf8");
    expect(text).not.toMatch(/node:|__vite-browser-external/);
    await import(join(app, "dist/assets", bundle));
    expectSignedIn(await (globalThis as unknown as { signIn(url: string): Promise<never> }).signIn(baseUrl));
  });

  it("esbuild bundles it, and it works", async () => {
    const out = join(app, "bundle.mjs");
    await run(join(tools, "esbuild/bin/esbuild"), ["sign-in.js", "--bundle", "--format=esm", `--outfile=${out}`]);
    const { signIn } = await import(out);
    expectSignedIn(await signIn(baseUrl));
  });

  it(`the whole client has at most ${MAX_CLIENT_BYTES} bytes, gzipped`, async () => {
    writeFileSync(join(app, "whole.js"), 'export * from "@countersign/client";');
    const args = ["whole.js", "--bundle", "--minify", "--format=esm", "--outfile=whole.min.js"];
    await run(join(tools, "esbuild/bin/esbuild"), args);
    const bytes = gzipSync(readFileSync(join(app, "whole.min.js")), { level: 9 }).length;
    console.log(`@countersign/client with all that it imports: ${bytes} bytes, minified and gzipped`);
    expect(bytes).toBeLessThanOrEqual(MAX_CLIENT_BYTES);
  });
});

describe("on a phone", () => {
  it("Metro resolves and bundles the client, and it works", async () => {
    const out = join(folder, "phone.js");
    await run(process.execPath, [join(import.meta.dirname, "metro.mjs"), app, out]);
    runInThisContext(readFileSync(out, "utf8"));
    expectSignedIn(await runInThisContext("__r(0)").signIn(baseUrl));
  });
});

describe("the docstrings", () => {
  const members = () => membersOf(app, PACKAGES);

  it("are at all that the packages export, with examples of what an app calls", () => {
    expect(missingOf(members())).toEqual([]);
  });

  it("have examples that an app's compiler accepts, and that run where they need no service", async () => {
    const [given, declared] = ["given.ts", "declared.ts"].map((file) => namesOf(join(app, file)));
    const programs = programsOf([...members(), ...readmesOf(app, PACKAGES)], { given: given!, declared: declared! });
    expect(programs.length).toBeGreaterThan(MIN_EXAMPLES);
    const examples = join(app, "examples");
    mkdirSync(examples);
    const fileOf = (index: number) => join(examples, `${index}.${programs[index]!.isComponent ? "tsx" : "ts"}`);
    for (const [index, { name, text }] of programs.entries()) writeFileSync(fileOf(index), `// ${name}\n${text}`);
    const compilerOptions = {
      ...{ strict: true, noEmit: true, target: "es2022", module: "nodenext", allowImportingTsExtensions: true },
      ...{ lib: ["es2024", "dom", "dom.iterable"], types: ["node"] },
      jsx: "react-jsx",
    };
    writeFileSync(join(app, "tsconfig.examples.json"), JSON.stringify({ compilerOptions, include: ["examples"] }));
    await run(join(root, "node_modules/.bin/tsc"), ["-p", "tsconfig.examples.json"]);
    const running = programs.flatMap(({ runs }, index) => (runs ? [fileOf(index)] : []));
    expect(running.length).toBeGreaterThan(MIN_RUNNING);
    const imports = running.map((file) => `await import(${JSON.stringify(file)});`);
    writeFileSync(join(app, "examples.mjs"), imports.join("\n"));
    await run(nodes[24], ["examples.mjs"]);
  });
});

/** Returns the names that a module of the app exports. */
const namesOf = (file: string): string[] =>
  [...readFileSync(file, "utf8").matchAll(/^export (?:declare )?(?:const|function) (?:\{ )?(\w+)/gm)].map(
    ([, name]) => name!,
  );
