import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { sendTransaction } from "@countersign/client";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import { beginWith, removeState } from "@countersign/local-stack/testing/stack-template.ts";
import { networkOf, signUpPerson } from "@countersign/testing";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it, vi } from "vitest";
import { countersign } from "../support/admin.ts";

// A stack of its own: other files compare all records.
const stateDir = mkdtempSync(join(tmpdir(), "countersign-archive-"));
const place = (name: string) => join(stateDir, name);
let running: RunningStack;
const ada = (...args: string[]) => countersign(running.stack, "ada", ...args);
const grace = (...args: string[]) => countersign(running.stack, "grace", ...args);
/** Has ada ask for the removal of a file; returns the request's id. */
async function askToRemove(file: string): Promise<string> {
  const { code, stdout, stderr } = await ada("audit", "remove", "--archive", place(file), "--json");
  expect(code, stderr).toBe(0);
  const { outcome, actionId } = JSON.parse(stdout);
  expect(outcome).toBe("requested");
  return actionId;
}

const run = promisify(execFile);
/** Runs a command of the signer, which has the audit key's public halves and no database. */
async function signer(...args: string[]): Promise<{ code: number; stdout: string }> {
  const env = {
    PATH: process.env.PATH,
    SIGNER_KEYSTORE_FILE: place("keys/signer-keystore.json"),
    SIGNER_KEYSTORE_PASSPHRASE_FILE: place("keys/signer-keystore.passphrase"),
  };
  return run(process.execPath, ["services/signer/src/cli.ts", ...args], { env }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
  );
}
const verify = (...files: string[]) =>
  signer(
    ...["audit", "verify", "--public-key", place("public.json"), "--checkpoints", place("checkpoints")],
    ...files.flatMap((file) => ["--export", place(file)]),
  );

async function query<T>(sql: string): Promise<T[]> {
  const database = new pg.Client({ connectionString: running.stack.databases.signer });
  await database.connect();
  try {
    return (await database.query(sql)).rows;
  } finally {
    await database.end();
  }
}
const count = async (table: string) => (await query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table}`))[0]!.n;

/** Signs up a person who signs, and waits until a checkpoint covers all records. */
async function makeRecords(): Promise<void> {
  const { client } = await signUpPerson(running.stack);
  await sendTransaction(client, {
    network: networkOf(running.stack),
    cadence: "transaction { prepare(a: &Account) {} }",
  });
  const behind =
    "SELECT 1 FROM audit_chain c LEFT JOIN audit_tree t ON t.chain_id = c.id WHERE c.closed_in IS NULL AND head_sequence <> coalesce(t.size, 0)";
  await vi.waitFor(async () => expect(await query(behind)).toEqual([]), { timeout: 20_000, interval: 200 });
}

beforeAll(async () => {
  await beginWith(inject("stackTemplate"), stateDir);
  running = await startStack({ stateDir, freePorts: true, throwAway: true, isCopy: true, say: () => undefined });
  await makeRecords();
  writeFileSync(place("public.json"), (await signer("keys", "export-public")).stdout);
}, 240_000);
afterAll(async () => {
  await running?.stop();
  removeState(stateDir);
});

it("an archive is written, verified and taken out by two persons, also when the signer is killed meanwhile", {
  timeout: 240_000,
}, async () => {
  const before = new Date().toISOString();
  const unarchived = await count("audit_checkpoint");
  expect(await ada("audit", "archive", "--before", before, "--out", place("first"))).toMatchObject({ code: 0 });
  // It is nobody's to overwrite; a moment that is none, or too early, leaves no file.
  expect(await ada("audit", "archive", "--before", before, "--out", place("first"))).toMatchObject({ code: 2 });
  for (const wrong of ["soon", "2020-01-01"])
    expect(await ada("audit", "archive", "--before", wrong, "--out", place("none"))).toMatchObject({ code: 2 });
  expect(() => readFileSync(place("none"))).toThrow("ENOENT");
  await makeRecords();

  const text = readFileSync(place("first"), "utf8");
  for (const damaged of [text.slice(0, -5), text.replace('"signed"', '"GasLimit"'), text.replace(/^until .*\n/m, "")]) {
    writeFileSync(place("damaged"), damaged);
    if (!damaged.includes("\nuntil ")) {
      expect(await ada("audit", "remove", "--archive", place("damaged"))).toMatchObject({ code: 2 });
      continue;
    }
    const requestId = await askToRemove("damaged");
    const approval = ["requests", "approve", requestId, "--archive"];
    expect(await grace(...approval, place("damaged"))).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining("InvalidRequest") },
    });
    expect(await grace(...approval, place("first"))).toMatchObject({
      ...{ code: 2, stderr: expect.stringContaining("AdminRequestNotFound") },
    });
    expect(await ada("requests", "reject", requestId)).toMatchObject({ code: 0 });
  }
  const requestId = await askToRemove("first");
  const approval = ["requests", "approve", requestId, "--archive", place("first")];
  expect((await grace("requests", "list")).stdout).toMatch(
    new RegExp(`^request ${requestId}, .*, by ada\n {2}audit remove \\{"sha256".*\\}\n`),
  );
  expect(await ada(...approval)).toMatchObject({ code: 2, stderr: expect.stringContaining("SecondPersonRequired") });
  expect(await count("audit_archive")).toBe(0);

  // It waits for readers before it deletes checkpoints: then the signer is killed.
  const interrupted = grace(...approval);
  await expect.poll(() => count("audit_archive"), { timeout: 20_000 }).toBe(1);
  await running.kill("signer");
  expect(await interrupted).toMatchObject({ code: 2 });
  expect(await count("audit_checkpoint")).toBeGreaterThanOrEqual(unarchived);
  await running.restart("signer");
  const again = await vi.waitFor(
    async () => {
      const removed = await ada("audit", "remove", "--archive", place("first"));
      expect(removed, removed.stderr).toMatchObject({ code: 0 });
      return removed;
    },
    { timeout: 90_000, interval: 1_000 },
  );
  const [, until] = /^until (\d+)$/m.exec(text)!;
  expect(again.stdout).toContain(`the database begins behind checkpoint ${until}`);
  const [oldest] = await query<{ sequence: string }>("SELECT min(sequence) AS sequence FROM audit_checkpoint");
  expect(oldest).toEqual({ sequence: until });

  await makeRecords();
  const verified = await ada("audit", "verify");
  expect(verified, verified.stderr + verified.stdout).toMatchObject({ code: 0 });
  expect(verified.stdout).toMatch(
    new RegExp(`ARCHIVED {2}all up to checkpoint ${until} of .* by ada, approved by grace: a test of`),
  );
  expect(await ada("audit", "export", "--out", place("rest"))).toMatchObject({ code: 0 });
  copyFileSync(place("audit/signer.checkpoints"), place("checkpoints"));
  const whole = await verify("first", "rest");
  expect(whole.stdout).toMatch(/\nwhole\n$/);
  expect(whole.code).toBe(0);
  for (const [files, said] of [
    [["first"], /NOT GIVEN {2}all behind checkpoint/],
    [["rest"], /NOT GIVEN {2}all up to checkpoint .* by ada/],
  ] as const) {
    const part = await verify(...files);
    expect(part.stdout).toMatch(said);
    expect(part.code).toBe(4);
  }
  for (const files of [
    ["rest", "first"],
    ["damaged", "rest"],
  ])
    expect(await verify(...files)).toMatchObject({ code: 1, stdout: expect.stringContaining("WRONG  file 2: ") });

  const { stdout } = await ada("actions", "list", "--service", "signer");
  for (const action of ["ada +audit archive +read", "ada +audit remove +requested", "grace +audit remove +approved"])
    expect(stdout).toMatch(new RegExp(`${action} .*a test of the administrator`));
});
