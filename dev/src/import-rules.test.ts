import { expect, test } from "vitest";
import { checkSource } from "./import-rules.ts";

const allowed: [string, string][] = [
  ["services/auth/src/domain/sign-up/sign-up.ts", 'import type { Store } from "@countersign/local-stack/ports.ts";'],
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
  ["services/auth/src/domain/sign-up/sign-up.ts", 'import { status } from "@grpc/grpc-js";', "no transport"],
  [
    "services/auth/src/domain/sign-up/sign-up.ts",
    'import {\n  PrismaClient,\n} from "../store/generated/client.ts";',
    "no database",
  ],
  ["services/auth/src/domain/a/b.ts", 'export * from "../../rpc/sign-up.ts";', "no transport"],
  ["services/auth/src/domain/sign-up/sign-up.ts", 'const x = await import("nats");', "no transport"],
  ["services/signer/src/main.ts", 'import { seal } from "./vault/keystore.ts";', "index only"],
  [
    "services/account/src/main.ts",
    'import { openVault } from "../../signer/src/vault/index.ts";',
    "from the signer only",
  ],
  ["services/key/src/main.ts", 'import "@countersign/account";', "no other service"],
  ["gateway/src/main.ts", 'import { x } from "../../services/auth/src/main.ts";', "no other service"],
  ["services/auth/src/main.ts", 'import pg from "pg";', "time limit"],
  ["packages/events/src/publisher.ts", 'import type { Pool } from "pg";', "time limit"],
  ["services/key/src/main.ts", 'import { PrismaPg } from "@prisma/adapter-pg";', "time limit"],
  ["packages/events/src/index.ts", 'import type { x } from "@countersign/auth/src/config.ts";', "no service"],
];

test.each(allowed)("%s may say %s", (from, source) => {
  expect(checkSource(from, source)).toEqual([]);
});

test.each(refused)("%s may not say %s", (from, source, why) => {
  expect(checkSource(from, source)[0]).toContain(why);
});
