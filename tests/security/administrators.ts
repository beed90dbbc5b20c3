import type { ServiceName } from "@countersign/build/paths.ts";
import pg from "pg";
import { asAdmin } from "../support/admin.ts";
import { stack } from "../support/person.ts";
import { query } from "./token-forge.ts";

/** Runs statements as the owner of Postgres, in a service's database. */
export async function asSuperuser(service: ServiceName, ...statements: string[]): Promise<void> {
  const url = new URL(stack.postgres);
  url.pathname = new URL(stack.databases[service]!).pathname;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Returns the records of commands about an account, the oldest first. */
export const actionsOf = (service: ServiceName, accountId: string) =>
  query<{ person: string; command: string; outcome: string }>(
    service,
    "SELECT person, command, outcome FROM admin_action WHERE account_id = $1 ORDER BY id",
    [accountId],
  );

/** Calls a method that every service has and records. */
export const describeAccount = (service: ServiceName, request: { reason: string; accountId: string }) =>
  asAdmin(stack, "ada", ({ each }) => each[service].describeAccount(request));

/** Reads a stream to its end. */
export async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}
