import type { ServiceName } from "@countersign/build/paths.ts";
import { isUuid } from "@countersign/core";
import pg from "pg";
import { expect, it } from "vitest";
import { createEarlierDatabase } from "./testing/postgres.ts";

type Statements = readonly (string | pg.QueryConfig)[];

/** Inserts rows as version 0.1 wrote them and migrates. Returns the rows that `read` finds then. */
async function migrated(service: ServiceName, migration: string, inserts: Statements, read: string) {
  const earlier = await createEarlierDatabase(service, migration);
  const client = new pg.Client({ connectionString: earlier.url });
  await client.connect();
  for (const insert of inserts) await client.query(insert);
  await earlier.migrate();
  const { rows } = await client.query(read);
  await client.end();
  await earlier.drop();
  return rows;
}
const id = (n: number) => `01900000-0000-7000-8000-00000000000${n}`;

it("a message of a two-factor request gets the request's account", async () => {
  const inserts = [
    `INSERT INTO two_factor (id, account_id, chain_name, app_id, app_name, user_key_type, account_key_algorithm,
       account_key, device_key_algorithm, device_key, device, email, ip, location, src_device_id, status, message_id, message,
       requested_at, expires_at, wrong_approvals)
     VALUES ('${id(1)}', '${id(2)}', 'flow', '', '', '', '', '', '', '', '{}', '', '', '', '${id(3)}', 'pending',
       '${id(4)}', '', now(), now(), 0)`,
    `INSERT INTO two_factor_message (message_id, two_factor_id, message, created_at)
     VALUES ('${id(4)}', '${id(1)}', '', now())`,
  ];
  const read = "SELECT account_id FROM two_factor_message";
  expect(await migrated("device", "two_factor_message_of_0_1", inserts, read)).toEqual([{ account_id: id(2) }]);
});

it("an address is of the account that is bound to it", async () => {
  const bind = (account: string, address: string) =>
    `INSERT INTO binding (account_id, chain_name, address, server_key_index, server_key_version, created_at)
     VALUES ('${account}', 'flow', '${address}', 1, 1, now())`;
  const take = (address: string) =>
    `INSERT INTO bound_address (chain_name, address, account_id) VALUES ('flow', '${address}', '${id(3)}')`;
  const inserts = [bind(id(1), "0x1"), bind(id(2), "0x2"), take("0x2"), bind(id(3), "0x3"), take("0x3")];
  const read = "SELECT address, account_id AS account FROM bound_address ORDER BY 1";
  expect(await migrated("signer", "bound_address_of_0_1", inserts, read)).toEqual([
    { address: "0x1", account: id(1) },
    { address: "0x2", account: id(2) },
    { address: "0x3", account: id(3) },
  ]);
});

it("a sign-up that may be continued or repeated has a session's id, and none has control characters", async () => {
  const plain = { name: "Ann's phone" };
  const clean = { name: 'Ann\'s "phone" in C:\\new\\u0001', os: "" };
  const dirty = { name: 'Ann\'s\t "p\u0001hone"\u0085 in C:\\new\\u0001', os: "\r\n" };
  const signUp = (n: number, device: object, completedAt: string, sessionId: string | null = null) => ({
    text: `INSERT INTO sign_up (account_id, chain_name, app_id, app_name, user_key_type, account_key_algorithm,
        account_key, device_key_algorithm, device_key, device_attributes, device_id, session_id, profile_image_url,
        completed_at, lease_until, created_at)
      VALUES ($1, 'flow', '', $2, '', '', '', '', '', $3, $1, $4, '', ${completedAt}, now(), now())`,
    values: [id(n), device === dirty ? "An\napp" : "Anapp", device, sessionId],
  });
  const longAgo = "now() - interval '30 days'";
  const signUps = [
    signUp(1, dirty, "NULL"),
    signUp(2, clean, "now() - interval '1 hour'"),
    signUp(3, dirty, longAgo),
    signUp(4, plain, longAgo),
    signUp(5, clean, "NULL", id(6)),
  ];
  const read = "SELECT app_name, device_attributes AS device, session_id FROM sign_up ORDER BY account_id";
  const rows = await migrated("auth", "sign_ups_of_0_1", signUps, read);
  expect(rows.map(({ app_name: appName, device }) => [appName, device])).toEqual(
    [clean, clean, clean, plain, clean].map((device) => ["Anapp", device]),
  );
  const sessionIds = rows.map(({ session_id: sessionId }) => sessionId);
  expect(new Set(sessionIds.slice(0, 3)).size).toBe(3);
  expect(sessionIds.slice(0, 3).every(isUuid)).toBe(true);
  expect(sessionIds.slice(3)).toEqual([null, id(6)]);
});
