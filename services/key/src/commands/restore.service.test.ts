import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FixedClock } from "@countersign/core/testing";
import { v7 } from "uuid";
import { afterAll, beforeAll, expect, it } from "vitest";
import { findSignInKey } from "../domain/find-sign-in-key.ts";
import { registerKey } from "../domain/register-key.ts";
import { postgresKeyStore } from "../store/postgres-key-store.ts";
import { someKey } from "../testing/samples.ts";
import { database, postgres, prisma } from "../testing/store-fixture.ts";
import { restore } from "./restore.ts";

let directory: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "countersign-restore-"));
});
afterAll(async () => {
  rmSync(directory, { recursive: true });
});

async function runRestore(chain: string, accounts: string): Promise<void> {
  const stated = ["--since", "2026-11-20T09:00:00Z", "--by", "ada", "--reason", "disk lost", "--went-back"];
  const args = [...stated, "--chain", chain, "--accounts", accounts];
  await restore.run({ args, env: { KEY_DATABASE_URL: database.url }, print: () => undefined });
}

it("a key that was revoked on chain since signs in no more, and one that was added is listed", async () => {
  const store = postgresKeyStore(prisma, postgres);
  const register = registerKey({ store, clock: new FixedClock(), newId: v7, maxUserKeys: 20 });
  const find = findSignInKey({ store });
  const accountId = v7();
  const [kept, revoked, added] = [1, 2, 3].map((keyIndex) => someKey({ accountId, keyIndex }));
  await register(kept!);
  await register(revoked!);
  const { chainName } = kept!;
  const address = "0123456789abcdef";
  const onChain = ({ accountKey, keyIndex: index }: typeof kept & object, isRevoked = false) => ({
    ...{ index, ...accountKey, weight: 1, role: "user", revoked: isRevoked, ours: true },
  });
  const server = { index: 0, algorithm: "ES256", publicKey: "ab".repeat(64), weight: 999, role: "server" };
  const keys = [{ ...server, revoked: false, ours: true }, onChain(kept!), onChain(revoked!, true), onChain(added!)];
  const chain = join(directory, "chain.jsonl");
  writeFileSync(chain, `${JSON.stringify({ kind: "keys", chainName, address, height: "9", keys })}\n`);
  const accounts = join(directory, "accounts.jsonl");
  const found = {
    accountId,
    chainName,
    address,
    userKey: kept!.accountKey,
    transactionId: "ab".repeat(32),
    serverKeyIndex: 0,
    serverKeyVersion: 1,
  };
  writeFileSync(accounts, `${JSON.stringify(found)}\n`);
  const signIn = (key: typeof kept & object) => find({ accountId, chainName, publicKey: key.accountKey });
  await signIn(revoked!);

  await runRestore(chain, accounts);
  await signIn(kept!);
  await expect(signIn(revoked!)).resolves.toBeUndefined();
  await expect(signIn(added!)).resolves.toBeUndefined();
  expect(await prisma.registration.findFirst({ where: { accountId, keyIndex: 3 } })).toMatchObject({ origin: "chain" });
  // auth, which has not forgotten it, registers the added one again; never the revoked one.
  await register(added!);
  await signIn(added!);
  await register(revoked!);
  await expect(signIn(revoked!)).resolves.toBeUndefined();
});

it.each([
  ["has left: all of its chains show so", [{ revoked: true }], 1],
  ["has not left: one of its chains was not read", [], 0],
])("an account %s", async (_, serverKeys, expected) => {
  const accountId = v7();
  const line = (chainName: string, keys: { revoked: boolean }[]) => {
    const server = {
      index: 0,
      algorithm: "ES256",
      publicKey: "ab".repeat(64),
      weight: 999,
      role: "server",
      ours: true,
    };
    const address = "0123456789abcdef";
    const shown = keys.map((key) => ({ ...server, ...key }));
    return `${JSON.stringify({ kind: "keys", accountId, chainName, address, height: "9", keys: shown })}\n`;
  };
  const [chain, accounts] = [join(directory, `${accountId}.chain`), join(directory, `${accountId}.accounts`)];
  writeFileSync(chain, line("flow-emulator", [{ revoked: true }]) + line("flow-testnet", serverKeys));
  writeFileSync(accounts, "");
  await runRestore(chain, accounts);
  expect(await prisma.leftAccount.count({ where: { accountId } })).toBe(expected);
});
