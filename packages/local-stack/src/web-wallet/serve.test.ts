import { describe, expect, it } from "vitest";
import { fileOf } from "./serve.ts";

describe("files of the page", () => {
  it.each(["/index.html", "/wallet.ts", "/packages/client/src/index.ts", "/node_modules/@noble/hashes/sha2.js"])(
    "serves %s",
    (path) => expect(fileOf(path)).toContain(path.split("/").at(-1)),
  );

  it.each([
    "/../../package.json",
    "/../../dev/src/main.ts",
    "/packages/client/src/../../../dev/src/main.ts",
    "/packages/client/package.json",
    "/packages/core/src/index.ts",
    "/node_modules/express/index.js",
    "/.local/keys/signer-keystore.json",
    "/nothing.ts",
    "/",
  ])("does not serve %s", (path) => expect(fileOf(path)).toBeUndefined());
});
