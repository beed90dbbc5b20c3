import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { checkImports } from "./check-imports.ts";
import { forbidden, GATEWAY_FOLDERS, SERVICE_FOLDERS } from "./import-rules.ts";

/** One file each, with one import. */
const allowed: [file: string, source: string][] = [
  ["services/auth/src/domain/sign-up/a.ts", 'import type { Store } from "../ports.ts";'],
  ["services/auth/src/domain/sign-up/b.ts", 'import { AppError } from "@countersign/core";'],
  ["services/auth/src/domain/sign-up/c.test.ts", 'import { store } from "../../store/store.ts";'],
  ["services/auth/src/rpc/sign-up.ts", 'import { signUp } from "../domain/sign-up.ts";'],
  ["services/signer/src/main.ts", 'import { openVault } from "./vault/index.ts";'],
  ["services/signer/src/vault/index.ts", 'export { openVault } from "./keystore.ts";'],
  ["services/key/src/main.ts", 'import { check } from "@countersign/keys";'],
  ["packages/postgres/src/pool.ts", 'import pg from "pg";'],
  ["packages/events/src/store.service.test.ts", 'import pg from "pg";'],
  ["packages/client/src/index.ts", 'import { parse } from "@countersign/keys";'],
  ["tests/e2e/allowed.test.ts", 'import { fake } from "../../services/signer/src/testing/fake.ts";'],
  ["tests/models/allowed.ts", 'import { rules } from "../../services/signer/src/policy/history-rules.ts";'],
  ["examples/by-hand/allowed.ts", 'import { CountersignClient } from "@countersign/client";'],
  ["apps/wallet/src/allowed.ts", 'import { CountersignClient } from "@countersign/client";'],
  ["examples/expo/allowed.ts", 'import { AppState } from "react-native";'],
];

/** A rule, and an import that it refuses in a file. */
const refused: [rule: string, file: string, source: string][] = [
  ["no-cycles", "packages/core/src/cycle-a.ts", 'import type { B } from "./cycle-b.ts";'],
  ["declared", "packages/core/src/undeclared.ts", 'import { sign } from "@countersign/flow";'],
  ["declared", "packages/core/src/undeclared-type.ts", 'import type { Logger } from "pino";'],
  ["declared", "tests/e2e/undeclared.test.ts", 'import type { Pool } from "@countersign/postgres";'],
  ["declared", "bench/src/undeclared.ts", 'import { z } from "zod";'],
  ["declared", "dev/src/undeclared.ts", 'import { LRUCache } from "lru-cache";'],
  ["declared", "services/key/src/unknown.ts", 'import "@countersign/account";'],
  ["declared", "packages/events/src/by-name.ts", 'import type { x } from "@countersign/auth/src/config.ts";'],
  ["declared-for-production", "packages/core/src/development.ts", 'import type { Pool } from "pg";'],
  ["by-package-name", "tests/e2e/path.test.ts", 'import { ids } from "../../packages/core/src/ids.ts";'],
  ["by-package-name", "packages/flow/src/path.ts", 'export * from "../../keys/src/hex.ts";'],
  ["no-tools", "packages/local-stack/src/dev.ts", 'import { start } from "../../../dev/src/start.ts";'],
  ["no-tools", "bench/src/tests.ts", 'import { person } from "../../tests/support/person.ts";'],
  ["no-test-code", "services/key/src/main-of-tests.ts", 'import { fake } from "./testing/fake.ts";'],
  ["no-test-code", "services/key/src/test-library.ts", 'import { expect } from "vitest";'],
  ["other-service", "services/account/src/other.ts", 'import { open } from "../../signer/src/vault/index.ts";'],
  ["other-service", "gateway/src/other.ts", 'import { start } from "../../services/auth/src/main.ts";'],
  [
    "inside-of-service",
    "packages/events/src/inside.ts",
    'import type { x } from "../../../services/auth/src/config.ts";',
  ],
  ["inside-of-service", "tests/e2e/inside.test.ts", 'import { app } from "../../gateway/src/http/app.ts";'],
  ["inside-of-service/models", "tests/models/inside.ts", 'import { s } from "../../services/auth/src/store/s.ts";'],
  ["inside-of-service/keystore", "tests/e2e/by-hand.ts", 'import { s } from "../../services/signer/src/policy/s.ts";'],
  ["inside-of-service/names", "tests/e2e/names.test.ts", 'import { s } from "../../services/account/src/chain/s.ts";'],
  ["inside-of-service/answers", "tests/answers/inside.ts", 'import { app } from "../../gateway/src/http/app.ts";'],
  [
    "inside-of-service/compose",
    "packages/local-stack/src/compose/compose-check.test.ts",
    'import "../../../../services/key/src/main.ts";',
  ],
  ["inside-of-service/bench", "bench/src/audit-verify.ts", 'import { s } from "../../services/signer/src/store/s.ts";'],
  ["inside-of-service/year", "bench/src/simulate-year.ts", 'import { s } from "../../services/auth/src/domain/s.ts";'],
  ["inside-of-service/year-jobs", "bench/src/year-jobs.ts", 'import { s } from "../../services/key/src/domain/s.ts";'],
  ["inside-of-service/citus", "dev/src/citus/race.ts", 'import { s } from "../../../services/key/src/rpc/s.ts";'],
  ["key-material", "services/signer/src/keys.ts", 'import { seal } from "./vault/keystore.ts";'],
  ["key-material", "tests/faults/keys.ts", 'import { seal } from "../../services/signer/src/vault/keystore.ts";'],
  ["postgres-connections", "packages/events/src/connections.ts", 'import pg from "pg";'],
  ["postgres-connections", "packages/events/src/publisher.ts", 'import type { Pool } from "pg";'],
  ["postgres-connections", "services/key/src/prisma.ts", 'import { PrismaPg } from "@prisma/adapter-pg";'],
  ["grpc", "services/auth/src/grpc.ts", 'import { status } from "@grpc/grpc-js";'],
  ["nats", "services/auth/src/nats.ts", 'const { connect } = await import("nats");'],
  ["domain-libraries", "services/auth/src/domain/a/zod.ts", 'import { z } from "zod";'],
  ["domain-libraries", "services/auth/src/domain/a/jose.ts", 'import { jwtVerify } from "jose";'],
  ["domain-libraries", "services/auth/src/domain/a/fs.ts", 'import { readFileSync } from "node:fs";'],
  ["domain-libraries", "services/auth/src/domain/a/cache.ts", 'import { LRUCache } from "lru-cache";'],
  ["domain-libraries", "services/auth/src/domain/a/grpc.ts", 'import { status } from "@grpc/grpc-js";'],
  ["domain-libraries", "services/auth/src/domain/a/nats.ts", 'const x = await import("nats");'],
  [
    "service/domain",
    "services/auth/src/domain/a/b.ts",
    'import {\n  Client,\n} from "../../store/generated/client.ts";',
  ],
  ["service/domain", "services/account/src/domain/a/b.ts", 'import { x } from "../../chain/flow.ts";'],
  ["service/domain", "services/auth/src/domain/a/rpc.ts", 'export * from "../../rpc/sign-up.ts";'],
  ["service/domain", "services/auth/src/domain/a/tokens.ts", 'import type { T } from "../../tokens/tokens.ts";'],
  ["service/domain", "services/auth/src/domain/a/config.ts", 'import type { Config } from "../../config.ts";'],
  ["service/domain", "services/device/src/domain/a/push.ts", 'import type { Push } from "../../push/push.ts";'],
  ["service/domain", "services/signer/src/domain/parser.ts", 'import { parse } from "../parser/parser-pool.ts";'],
  ["service/domain", "services/auth/src/domain/a/events.ts", 'import type { Feed } from "@countersign/events";'],
  ["signer-rules", "services/signer/src/policy/cache.ts", 'import { LRUCache } from "lru-cache";'],
  ["signer-rules", "services/signer/src/budget/metrics.ts", 'import { Counter } from "prom-client";'],
  ["service/vault", "services/signer/src/vault/policy.ts", 'import { rules } from "../policy/policy.ts";'],
  ["service/budget", "services/signer/src/budget/policy.ts", 'import type { Policy } from "../policy/policy.ts";'],
  ["service/policy", "services/signer/src/policy/audit.ts", 'import type { Entry } from "../audit/record.ts";'],
  ["service/parser", "services/signer/src/parser/domain.ts", 'import type { X } from "../domain/ports.ts";'],
  ["service/audit", "services/signer/src/audit/domain.ts", 'import type { X } from "../domain/ports.ts";'],
  ["service/events", "services/device/src/events/push.ts", 'import type { Push } from "../push/push.ts";'],
  ["service/push", "services/device/src/push/notices.ts", 'import type { Kind } from "../notices/ports.ts";'],
  ["service/notices", "services/device/src/notices/store.ts", 'import type { S } from "../store/s.ts";'],
  ["service/webhooks", "services/device/src/webhooks/store.ts", 'import type { S } from "../store/s.ts";'],
  ["service/location", "services/device/src/location/domain.ts", 'import type { X } from "../domain/ports.ts";'],
  ["service/clients", "services/auth/src/clients/store.ts", 'import type { S } from "../store/s.ts";'],
  ["service/config.ts", "services/auth/src/config.ts", 'import type { S } from "./store/s.ts";'],
  ["service/http", "services/auth/src/http/tokens.ts", 'import type { T } from "../tokens/tokens.ts";'],
  ["service/tokens", "services/auth/src/tokens/store.ts", 'import type { S } from "../store/s.ts";'],
  ["service/chain", "services/account/src/chain/store.ts", 'import type { S } from "../store/s.ts";'],
  ["service/metrics.ts", "services/account/src/metrics.ts", 'import type { S } from "./store/s.ts";'],
  ["service/to-proto.ts", "services/account/src/to-proto.ts", 'import type { S } from "./store/s.ts";'],
  ["service/store", "services/auth/src/store/clients.ts", 'import type { C } from "../clients/c.ts";'],
  ["service/jobs", "services/auth/src/jobs/store.ts", 'import type { S } from "../store/s.ts";'],
  ["service/subscribers", "services/auth/src/subscribers/store.ts", 'import type { S } from "../store/s.ts";'],
  ["service/rpc", "services/auth/src/rpc/store.ts", 'import type { S } from "../store/s.ts";'],
  ["service/rpc", "services/auth/src/rpc/postgres.ts", 'import { sql } from "@countersign/postgres";'],
  ["service/commands", "services/auth/src/commands/rpc.ts", 'import type { R } from "../rpc/r.ts";'],
  ["gateway/clients", "gateway/src/clients/http.ts", 'import type { R } from "../http/route.ts";'],
  ["gateway/chain-nodes", "gateway/src/chain-nodes/routes.ts", 'import { once } from "../routes/rpc.ts";'],
  ["gateway/http", "gateway/src/http/routes.ts", 'import { once } from "../routes/rpc.ts";'],
  ["gateway/routes", "gateway/src/routes/config.ts", 'import type { C } from "../config.ts";'],
  ["unlisted-folder", "services/key/src/helpers/a.ts", 'import { AppError } from "@countersign/core";'],
  ["apps", "apps/wallet/src/rpc.ts", 'import { createRpcClient } from "@countersign/rpc";'],
  ["apps-in-browsers", "apps/wallet/src/node.ts", 'import { readFileSync } from "node:fs";'],
  ["examples", "examples/by-hand/rpc.ts", 'import { createRpcClient } from "@countersign/rpc";'],
];

/** Files that cases import and that are no cases. */
const others: Record<string, string> = { "packages/core/src/cycle-b.ts": 'import type { A } from "./cycle-a.ts";' };

let directory: string;
let found: Awaited<ReturnType<typeof checkImports>>;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "countersign-imports-"));
  const write = (path: string, source: string) => {
    const file = join(directory, path);
    if (existsSync(file)) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, source);
  };
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  for (const manifest of globSync("{*,{packages,services,apps}/*}/package.json", { cwd: root })) {
    mkdirSync(dirname(join(directory, manifest)), { recursive: true });
    copyFileSync(join(root, manifest), join(directory, manifest));
  }
  const files = [...allowed, ...refused.map(([, file, source]) => [file, source] as const), ...Object.entries(others)];
  for (const [file, source] of files) write(file, source);
  for (const [file, source] of files) {
    const [, target] = /"(\..*)"/.exec(source) ?? [];
    if (target !== undefined) write(join(dirname(file), target), "");
  }
  found = await checkImports(directory);
}, 60_000);

afterAll(() => rmSync(directory, { recursive: true, force: true }));

const refusing = (file: string) => found.filter(({ from }) => from === file).map(({ rule }) => rule);

test.each(allowed)("%s may contain %s", (file) => {
  expect(refusing(file)).toEqual([]);
});

test.each(refused)("%s: %s may not contain %s", (rule, file) => {
  expect(refusing(file)).toContain(rule);
});

test("every rule refuses something, and each file is one case", () => {
  expect(forbidden.map(({ name }) => name).filter((name) => !refused.some(([rule]) => rule === name))).toEqual([]);
  const files = [...allowed.map(([file]) => file), ...refused.map(([, file]) => file)];
  expect(files.filter((file, i) => files.indexOf(file) !== i)).toEqual([]);
});

test.each([
  ["services", SERVICE_FOLDERS],
  ["gateway", GATEWAY_FOLDERS],
] as const)("folders of %s name folders above them only", (_, rows) => {
  const wrong = rows.filter(([, folders], row) => {
    const below = rows.slice(row).map(([folder]) => folder);
    return folders.split("|").some((folder) => below.includes(folder));
  });
  expect(wrong).toEqual([]);
});
