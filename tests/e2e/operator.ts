import { expect } from "vitest";
import { query } from "../security/token-forge.ts";
import { asAdmin, liftHolds, reason } from "../support/admin.ts";
import { type Person, stack } from "../support/person.ts";

/** Returns a person's holds, one line for each: alert, chain, event and transaction. */
export async function holdsOf({ signedUp }: Person): Promise<string[]> {
  const accountId = signedUp.account.id;
  const { holds } = await asAdmin(stack, "ada", ({ auth }) => auth.listHolds({ reason, accountId }));
  return holds.map(({ alertId, chainName, eventType, transactionId }) =>
    [alertId, chainName, eventType, transactionId].join(" "),
  );
}

/** Returns whether every alert of a transaction has its hold: a later hold would freeze the account again. */
async function isAllHeld(person: Person, transactionId: string): Promise<boolean> {
  const sql = "SELECT id FROM chain_alert WHERE account_id = $1 AND transaction_id = $2 AND freezes";
  const alerts = await query("account", sql, [person.signedUp.account.id, transactionId]);
  const holds = (await holdsOf(person)).filter((line) => line.includes(transactionId));
  return holds.length > 0 && holds.length === alerts.length;
}

/** Waits for the holds that a transaction causes and lifts them, as two persons; returns the output. */
export async function lookAt(person: Person, transactionId: string): Promise<string[]> {
  await expect.poll(() => isAllHeld(person, transactionId), { timeout: 20_000, interval: 100 }).toBe(true);
  const [seen] = (await holdsOf(person)).at(-1)!.split(" ");
  return liftHolds(stack, person.signedUp.account.id, seen!);
}
