import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendTransaction } from "@countersign/client";
import { afterAll, expect } from "vitest";
import { query } from "../security/token-forge.ts";
import { type AdminName, countersign } from "../support/admin.ts";
import { NOTHING, network, type Person, signUpPerson, stack } from "../support/person.ts";

/** Runs an administrator's command with `--json`, which must succeed. */
export async function json(who: AdminName, ...args: string[]) {
  const { code, stdout, stderr } = await countersign(stack, who, ...args, "--json");
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

/** Signs up a person who has signed a transaction. */
export async function newSigner(): Promise<{ person: Person; accountId: string }> {
  const person = await signUpPerson();
  await sendTransaction(person.client, { network, cadence: NOTHING });
  return { person, accountId: person.signedUp.account.id };
}

/** Returns how many rows of a service's table are of an account. */
export const rowsOf = async (accountId: string, service: string, table: string): Promise<number> =>
  (await query(service, `SELECT 1 FROM ${table} WHERE account_id = $1`, [accountId])).length;

/** Returns where the commands of a test file write their files; they are removed after it. */
export function outputFiles(): (name: string) => string {
  const directory = mkdtempSync(join(tmpdir(), "countersign-admin-"));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));
  return (name) => join(directory, name);
}
