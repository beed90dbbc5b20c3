import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { publicKeyFingerprint } from "@countersign/keys";
import { build } from "vite";
import { afterAll, expect, it } from "vitest";
import { MISSING, reactNativeGlobals } from "./react-native-globals.ts";

/** The base point of P-256, a public key. */
const G_X = "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296";
const G_Y = "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";

const root = mkdtempSync(join(tmpdir(), "react-native-globals-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Loads a source of a package with React Native's globals; `path` is below packages/. */
async function load(path: string, source: string): Promise<Record<string, unknown>> {
  const file = join(root, "packages", path);
  const out = join(root, `${path.replaceAll(/\W/g, "-")}.mjs`);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, source);
  const plugins = [reactNativeGlobals()];
  const options = { configFile: false, root, logLevel: "error", plugins } as const;
  const lib = { entry: file, formats: ["es" as const] };
  const [built] = (await build({ ...options, build: { write: false, minify: false, lib } })) as {
    output: { code: string }[];
  }[];
  writeFileSync(out, built!.output[0]!.code);
  return import(out);
}

it("a source that runs on a phone finds no global that React Native lacks", async () => {
  expect(MISSING).toEqual(
    expect.arrayContaining(
      (
        "crypto TextDecoder structuredClone ReadableStream BroadcastChannel indexedDB localStorage document " +
        "EventSource URL Buffer DOMException Iterator WebAssembly"
      ).split(" "),
    ),
  );
  const found = await load(
    "client/src/uses.ts",
    `export const named = [${MISSING.map((name) => `typeof ${name}`).join(", ")}];
     export const members = [${MISSING.map((name) => `typeof globalThis.${name}`).join(", ")}];
     export const held = "crypto" in globalThis || "locks" in navigator || "versions" in process;
     export const methods = [Promise.withResolvers, Object.groupBy, Map.groupBy, AbortSignal.any, AbortSignal.timeout];
     const controller = new AbortController();
     controller.abort(new Error("why"));
     export const reason = controller.signal.reason;
     export const there = [typeof fetch, typeof setTimeout, typeof TextEncoder, typeof atob, typeof Promise.all];
     export const map = new Map([[1, 2]]).get(1);`,
  );
  expect(new Set(found.named as string[])).toEqual(new Set(["undefined"]));
  expect(new Set(found.members as string[])).toEqual(new Set(["undefined"]));
  expect(found).toMatchObject({ held: false, reason: undefined, map: 2 });
  expect(found.methods).toEqual([undefined, undefined, undefined, undefined, undefined]);
  expect(new Set(found.there as string[])).toEqual(new Set(["function"]));
});

it("a source that uses one fails, and tests keep Node's", async () => {
  const source = "export const id = () => crypto.randomUUID();";
  const onPhone = (await load("keys/src/id.ts", source)) as { id(): string };
  expect(() => onPhone.id()).toThrow(TypeError);
  const ofTest = (await load("keys/src/id.test.ts", source)) as { id(): string };
  expect(ofTest.id()).toMatch(/^[0-9a-f-]{36}$/);
});

it("the packages load, with the libraries that they import, and hash as they do here", async () => {
  const key = { publicKey: `${G_X}${G_Y}`, algorithm: "ES256" } as const;
  const { pathname } = new URL("../../../packages", import.meta.url);
  const found = await load(
    "client/src/whole.ts",
    `import { matchingCode } from "${pathname}/client/src/index.ts";
     import { payloadMessage } from "${pathname}/flow/src/index.ts";
     import { publicKeyFingerprint } from "${pathname}/keys/src/index.ts";
     import { hardwareKeyStore, xhrEvents } from "${pathname}/react-native/src/index.ts";
     import { fclWallet } from "${pathname}/fcl/src/index.ts";
     export const fingerprint = publicKeyFingerprint(${JSON.stringify(key)});
     export const loaded = [matchingCode, payloadMessage, hardwareKeyStore, xhrEvents, fclWallet];`,
  );
  expect(found.fingerprint).toBe(publicKeyFingerprint(key));
  expect(new Set((found.loaded as unknown[]).map((each) => typeof each))).toEqual(new Set(["function"]));
});
