import { expect } from "vitest";
import { accountsHolds } from "../../services/auth/src/commands/accounts-holds.ts";
import { accountsUnfreeze } from "../../services/auth/src/commands/accounts-unfreeze.ts";
import { query } from "../security/token-forge.ts";
import { type Person, stack } from "../support/person.ts";

const env = { AUTH_DATABASE_URL: stack.databases.auth! };

/** Returns the lines that `auth accounts holds` prints for a person. */
export async function holdsOf({ signedUp }: Person): Promise<string[]> {
  const lines: string[] = [];
  await accountsHolds.run({ args: [signedUp.account.id], env, print: (line) => void lines.push(line) });
  return lines;
}

/** Returns whether every alert of a transaction has its hold: a later hold would freeze the account again. */
async function isAllHeld(person: Person, transactionId: string): Promise<boolean> {
  const sql = "SELECT id FROM chain_alert WHERE account_id = $1 AND transaction_id = $2 AND freezes";
  const alerts = await query("account", sql, [person.signedUp.account.id, transactionId]);
  const holds = (await holdsOf(person)).filter((line) => line.includes(transactionId));
  return holds.length > 0 && holds.length === alerts.length;
}

/** Waits for the holds that a transaction causes and lifts them as an operator; returns the output. */
export async function lookAt(person: Person, transactionId: string): Promise<string[]> {
  await expect.poll(() => isAllHeld(person, transactionId), { timeout: 20_000, interval: 50 }).toBe(true);
  const lines: string[] = [];
  // Time, account, alert.
  const seen = (await holdsOf(person)).at(-1)!.split(" ")[2]!;
  const args = [person.signedUp.account.id, "--seen", seen, "--by", "test", "--reason", "the test has done it"];
  await accountsUnfreeze.run({ args, env, print: (line) => void lines.push(line) });
  return lines;
}
