import type { ServiceName } from "@countersign/build/paths.ts";
import { services } from "@countersign/build/paths.ts";
import type { Person } from "../person.ts";
import type { Ledger } from "./ledger.ts";
import type { ProxiedStack } from "./proxied-stack.ts";

type Query = ProxiedStack["query"];

/** Events that an account has once in its life, of those in these tests. */
const ONCE: Record<string, ServiceName> = {
  "sign-up-completed": "auth",
  "account-deployed": "account",
  "key-registered": "key",
  "device-registered": "device",
};

const count = async (query: Query, service: ServiceName, from: string, accountId: string): Promise<number> => {
  const [row] = await query<{ n: number }>(service, `SELECT count(*)::int AS n FROM ${from}`, [accountId]);
  return row?.n ?? 0;
};

/** Returns the account id of a person's key; the complaint where there is none, or more than one. */
async function accountIdOf(query: Query, { deviceKey }: Person): Promise<{ accountId?: string; complaint?: string }> {
  const rows = await query<{ account_id: string }>("auth", "SELECT account_id FROM sign_up WHERE account_key = $1", [
    deviceKey.publicKey,
  ]);
  const [row] = rows;
  return row && rows.length === 1 ? { accountId: row.account_id } : { complaint: `${rows.length} sign-ups` };
}

async function inServices(query: Query, accountId: string): Promise<string[]> {
  const expected: [ServiceName, string, number][] = [
    ["auth", "identity WHERE account_id = $1", 1],
    ["auth", "sign_up WHERE account_id = $1 AND completed_at IS NOT NULL", 1],
    ["account", "account WHERE id = $1", 1],
    ["account", "address WHERE account_id = $1", 2],
    ["account", "deployment WHERE account_id = $1 AND state = 'deployed'", 1],
    ["account", "deployment WHERE account_id = $1", 1],
    ["account", "creation WHERE $1 = ANY(account_ids) AND state = 'sealed'", 1],
    ["account", "creation WHERE $1 = ANY(account_ids) AND state IN ('assigned', 'signed')", 0],
    ["key", "registration WHERE account_id = $1", 1],
    ["device", "device WHERE account_id = $1", 1],
    ["signer", "binding WHERE account_id = $1", 1],
  ];
  const found = await Promise.all(expected.map(([service, from]) => count(query, service, from, accountId)));
  return expected.flatMap(([service, from, wanted], i) =>
    found[i] === wanted ? [] : [`${service} has ${found[i]} ${from}, not ${wanted}`],
  );
}

async function onChain(query: Query, ledger: Ledger, { deviceKey }: Person, accountId: string): Promise<string[]> {
  const keys = await ledger.keysAdded();
  const own = keys.filter(({ publicKey }) => publicKey === deviceKey.publicKey);
  if (own.length !== 1) return [`the key stands ${own.length} times on chain`];
  const [{ address }] = own as [(typeof own)[number]];
  const sql = "SELECT address FROM address WHERE account_id = $1 AND chain_type = 'cadence'";
  const [row] = await query<{ address: string }>("account", sql, [accountId]);
  if (row?.address !== address) return [`the account is at ${row?.address}, the key at ${address}`];
  const weights = keys.filter((key) => key.address === address).map(({ weight }) => weight);
  return JSON.stringify(weights) === "[999,1]" ? [] : [`the account's keys weigh ${weights}`];
}

async function inEvents(query: Query, accountId: string): Promise<string[]> {
  type Row = { subject: string; waits: boolean };
  const sql = "SELECT subject, id IN (SELECT id FROM outbox) AS waits FROM emitted WHERE subject LIKE $1";
  const rows = (await Promise.all(services.map((s) => query<Row>(s, sql, [`cs.v1.%.${accountId}.%`])))).flat();
  const emitted = (event: string) => rows.filter(({ subject }) => subject.endsWith(`.${event}`)).length;
  const complaints = Object.keys(ONCE).flatMap((event) =>
    emitted(event) === 1 ? [] : [`${event} is emitted ${emitted(event)} times`],
  );
  const sessions = await count(query, "auth", "session WHERE account_id = $1", accountId);
  // A replaced session ends with the event of the new one.
  const endings = "session WHERE account_id = $1 AND ended_at IS NOT NULL AND ended_cause <> 'replaced'";
  const ended = await count(query, "auth", endings, accountId);
  const [created, over] = [emitted("session-created"), emitted("session-ended")];
  if (created !== sessions) complaints.push(`${sessions} sessions, ${created} emitted`);
  if (over !== ended) complaints.push(`${ended} ended sessions, ${over} emitted`);
  const waiting = rows.filter(({ waits }) => waits).length;
  if (waiting > 0) complaints.push(`${waiting} events are not published yet`);
  return complaints;
}

/**
 * Returns everything about a person's account that is not exactly once in the databases, on the chain and
 * among the events; an empty list is good.
 */
export async function complaintsAbout({ query }: ProxiedStack, ledger: Ledger, person: Person): Promise<string[]> {
  const { accountId, complaint } = await accountIdOf(query, person);
  if (accountId === undefined) return [complaint ?? "no account"];
  const found = await Promise.all([
    inServices(query, accountId),
    onChain(query, ledger, person, accountId),
    inEvents(query, accountId),
  ]);
  return found.flat();
}
