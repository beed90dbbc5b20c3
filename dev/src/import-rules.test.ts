import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, test } from "vitest";

/** Lints a file with this content by the rules that biome.json has for its path; returns Biome's report. */
function lint(path: string, source: string): string {
  const directory = mkdtempSync(join(tmpdir(), "countersign-imports-"));
  try {
    copyFileSync(join(root, "biome.json"), join(directory, "biome.json"));
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), `${source}\n`);
    const args = ["lint", "--only=style/noRestrictedImports", path];
    const { status, stdout, stderr } = spawnSync(join(root, "node_modules/.bin/biome"), args, {
      cwd: directory,
      encoding: "utf8",
    });
    return status === 0 ? "" : stdout + stderr;
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const allowed: [string, string][] = [
  ["services/auth/src/domain/sign-up/sign-up.ts", 'import type { Store } from "../ports.ts";'],
  ["services/auth/src/domain/sign-up/sign-up.ts", 'import { AppError } from "@countersign/core";'],
  ["services/auth/src/rpc/sign-up.ts", 'import { signUp } from "../domain/sign-up.ts";'],
  ["services/signer/src/main.ts", 'import { openVault } from "./vault/index.ts";'],
  ["services/signer/src/vault/index.ts", 'export { openVault } from "./keystore.ts";'],
  ["services/key/src/main.ts", 'import { check } from "@countersign/keys";'],
  ["packages/postgres/src/pool.ts", 'import pg from "pg";'],
  ["services/auth/src/store/store.service.test.ts", 'import pg from "pg";'],
  ["packages/client/src/index.ts", 'import { parse } from "@countersign/keys";'],
];

const refused: [string, string, string][] = [
  ["services/auth/src/domain/sign-up/sign-up.ts", 'import { status } from "@grpc/grpc-js";', "the domain imports no"],
  [
    "services/auth/src/domain/sign-up/sign-up.ts",
    'import {\n  PrismaClient,\n} from "../store/generated/client.ts";',
    "the domain imports no",
  ],
  [
    "services/account/src/domain/a/b.ts",
    'import { x } from "../../chain/flow.ts";',
    "the domain imports no outer layer",
  ],
  ["services/auth/src/domain/a/b.ts", 'export * from "../../rpc/sign-up.ts";', "the domain imports no"],
  ["services/auth/src/domain/sign-up/sign-up.ts", 'const x = await import("nats");', "the domain imports no"],
  ["services/signer/src/main.ts", 'import { seal } from "./vault/keystore.ts";', "the vault's index is the only way"],
  ["services/account/src/main.ts", 'import { openVault } from "../../signer/src/vault/index.ts";', "import no service"],
  ["services/key/src/main.ts", 'import "@countersign/account";', "import no service"],
  ["gateway/src/main.ts", 'import { x } from "../../services/auth/src/main.ts";', "import no service"],
  ["services/auth/src/main.ts", 'import pg from "pg";', "time limit"],
  ["packages/events/src/publisher.ts", 'import type { Pool } from "pg";', "time limit"],
  ["services/key/src/main.ts", 'import { PrismaPg } from "@prisma/adapter-pg";', "time limit"],
  ["packages/events/src/index.ts", 'import type { x } from "@countersign/auth/src/config.ts";', "import no service"],
];

test.each(allowed)("%s may contain %s", (from, source) => {
  expect(lint(from, source)).toBe("");
});

test.each(refused)("%s may not contain %s", (from, source, why) => {
  expect(lint(from, source)).toContain(why);
});
