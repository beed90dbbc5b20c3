import { activeTrace, type TraceParent } from "@countersign/core";
import { eventRow } from "@countersign/events";
import { createShardBatcher, type Postgres, type Queries, sql } from "@countersign/postgres";
import type { AccountOnChain, BindingStore } from "../domain/ports.ts";
import type { Binding, ServerKeyPlace } from "../policy/account.ts";
import type { Binding as Row } from "./generated/client.ts";
import { createKnownBindings, type KnownBindings } from "./known-bindings.ts";

/**
 * A binding with the versions of the server key after its first, and the highest version of a signed
 * rotation.
 */
interface WholeRow extends Row {
  later: readonly ServerKeyPlace[];
  begun: number | null;
}

function toBinding({ createdAt: boundAt, later, begun, ...binding }: WholeRow): Binding {
  const first = { index: binding.serverKeyIndex, version: binding.serverKeyVersion };
  const retired = [first, ...later];
  const current = retired.pop() ?? first;
  return {
    ...binding,
    boundAt,
    serverKeyIndex: current.index,
    serverKeyVersion: current.version,
    ...(retired.length > 0 && { retired }),
    ...(begun !== null && begun > current.version && { rotatingTo: begun }),
  };
}

/**
 * Reads an account's bindings, the oldest first. In one statement: most signatures are the first of their
 * account for a while.
 */
async function readBindings(postgres: Postgres, accountId: string): Promise<Binding[]> {
  const rows = await postgres.query<WholeRow>(sql`
    SELECT b.account_id AS "accountId", b.chain_name AS "chainName", b.address, b.server_key_index AS "serverKeyIndex",
      b.server_key_version AS "serverKeyVersion", b.created_at AS "createdAt",
      coalesce((
        SELECT json_agg(json_build_object('index', v.server_key_index, 'version', v.server_key_version) ORDER BY v.server_key_version)
        FROM binding_version v WHERE v.account_id = ${accountId}::uuid AND v.chain_name = b.chain_name), '[]') AS later,
      (SELECT max(r.server_key_version) FROM server_key_rotation r
        WHERE r.account_id = ${accountId}::uuid AND r.chain_name = b.chain_name) AS begun
    FROM binding b WHERE b.account_id = ${accountId}::uuid ORDER BY b.created_at`);
  return rows.map(toBinding);
}

/** A binding that is to be written. */
interface NewBinding extends Binding {
  readonly now: Date;
  readonly requestId: string;
  /** The request's own position: one statement writes many bindings. */
  readonly trace: TraceParent | undefined;
}

const placeOf = ({ chainName, address }: { chainName: string; address: string }) => `${chainName}/${address}`;

export type PostgresBindingStore = BindingStore & Omit<KnownBindings, "find">;

/**
 * Keeps bindings in Postgres, and caches them for a moment. `reads` has the connections for finding them,
 * which each signature waits for: a change that waits for a lock keeps none of them.
 */
export function postgresBindingStore(postgres: Postgres, reads = postgres): PostgresBindingStore {
  const findCurrent = (accountId: string) => readBindings(reads, accountId);
  const known = createKnownBindings(findCurrent);

  /**
   * Serializes the changes of an account's versions over all replicas: their conditions see the change
   * before.
   */
  const change = async (
    { accountId, chainName }: AccountOnChain,
    work: (tx: Queries) => Promise<unknown>,
  ): Promise<Binding | undefined> => {
    await postgres.transaction(async (tx) => {
      await tx.query(sql`
        SELECT FROM binding WHERE account_id = ${accountId} AND chain_name = ${chainName} FOR NO KEY UPDATE`);
      await work(tx);
    });
    known.forget(accountId);
    return (await readBindings(postgres, accountId)).find((binding) => binding.chainName === chainName);
  };

  /**
   * Takes addresses for accounts, before their bindings: of two accounts one gets an address, wherever their
   * bindings are. Returns the bindings whose account has its address.
   */
  const takeAddresses = async (bindings: readonly NewBinding[]): Promise<NewBinding[]> => {
    const addresses = bindings.map(({ address }) => address);
    // In the order of the key, so that replicas do not deadlock.
    await postgres.execute(sql`
      INSERT INTO bound_address (chain_name, address, account_id)
      SELECT * FROM unnest(${bindings.map(({ chainName }) => chainName)}::text[], ${addresses}::text[],
        ${bindings.map(({ accountId }) => accountId)}::uuid[]) AS n(chain_name, address, account_id)
      ORDER BY chain_name, address ON CONFLICT DO NOTHING`);
    const taken = await postgres.query<{ chainName: string; address: string; accountId: string }>(sql`
      SELECT chain_name AS "chainName", address, account_id AS "accountId"
      FROM bound_address WHERE address = ANY(${addresses})`);
    const holders = new Map(taken.map((row) => [placeOf(row), row.accountId]));
    return bindings.filter((binding) => holders.get(placeOf(binding)) === binding.accountId);
  };

  /** Writes bindings, each with its event, in one statement. Returns those that are new. */
  const write = async (bindings: readonly NewBinding[]): Promise<NewBinding[]> => {
    const column = <C extends keyof NewBinding>(name: C) => bindings.map((binding) => binding[name]);
    const events = bindings.map(({ accountId, chainName, address, now: occurredAt, requestId, trace }) =>
      eventRow(
        "signer",
        "address-bound",
        { accountId, occurredAt, requestId, trace },
        { addressBound: { chainName, address } },
      ),
    );
    // Of several for one account, the one whose event is published is written. In the order of the key, so
    // that replicas do not deadlock.
    const rows = await postgres.query<{ id: string }>(sql`
      WITH wanted AS MATERIALIZED (
        SELECT DISTINCT ON (account_id, chain_name) *
        FROM unnest(${column("accountId")}::uuid[], ${column("chainName")}::text[], ${column("address")}::text[],
          ${column("serverKeyIndex")}::int[], ${column("serverKeyVersion")}::int[],
          ${bindings.map(({ boundAt, now }) => boundAt ?? now)}::timestamptz[],
          ${events.map(({ id }) => id)}::uuid[], ${events.map(({ subject }) => subject)}::text[],
          ${events.map(({ payload }) => payload)}::bytea[])
          AS n(account_id, chain_name, address, server_key_index, server_key_version, created_at, id, subject, payload)
        ORDER BY account_id, chain_name),
      bound AS (
        INSERT INTO binding (account_id, chain_name, address, server_key_index, server_key_version, created_at)
        SELECT account_id, chain_name, address, server_key_index, server_key_version, created_at FROM wanted
        ORDER BY account_id, chain_name ON CONFLICT DO NOTHING RETURNING account_id, chain_name)
      INSERT INTO outbox (id, subject, payload, created_at, account_id)
      SELECT id, subject, payload, created_at, account_id FROM wanted JOIN bound USING (account_id, chain_name)
      RETURNING id`);
    const written = new Set(rows.map(({ id }) => id));
    return bindings.filter((_, i) => written.has(events[i]!.id));
  };

  /** The accounts of one creation come together. Returns for each binding whether it is new. */
  const insertTogether = createShardBatcher(
    postgres,
    ({ accountId }: NewBinding) => accountId,
    async (bindings): Promise<boolean[]> => {
      const rows = await postgres.query<{ accountId: string; chainName: string }>(sql`
        SELECT account_id AS "accountId", chain_name AS "chainName" FROM binding
        WHERE account_id = ANY(${bindings.map(({ accountId }) => accountId)}::uuid[])`);
      const present = new Set(rows.map(({ accountId, chainName }) => `${accountId}/${chainName}`));
      const free = bindings.filter(({ accountId, chainName }) => !present.has(`${accountId}/${chainName}`));
      const written = new Set(free.length > 0 ? await write(await takeAddresses(free)) : []);
      return bindings.map((binding) => written.has(binding));
    },
  );

  return {
    ...known,
    findCurrent,

    async insert(binding, context) {
      const { accountId, chainName } = binding;
      if (await insertTogether({ ...binding, ...context, trace: activeTrace() })) {
        known.forget(accountId);
        return binding;
      }
      // The binding as the creation made it: an account that was rotated since is still the same binding.
      const [row] = await postgres.query<Row>(sql`
        SELECT account_id AS "accountId", chain_name AS "chainName", address, server_key_index AS "serverKeyIndex",
          server_key_version AS "serverKeyVersion", created_at AS "createdAt"
        FROM binding WHERE account_id = ${accountId} AND chain_name = ${chainName}`);
      return row && toBinding({ ...row, later: [], begun: null });
    },

    appendVersion: ({ accountId, chainName }, { index, version }, now) =>
      change({ accountId, chainName }, (tx) =>
        tx.execute(sql`
          INSERT INTO binding_version (account_id, chain_name, server_key_version, server_key_index, created_at)
          SELECT account_id, chain_name, server_key_version, ${index}, ${now} FROM server_key_rotation
          WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND server_key_version = ${version}
            AND (SELECT max(p.server_key_version) = ${version}::int - 1 AND max(p.server_key_index) < ${index}::int FROM (
              SELECT server_key_version, server_key_index FROM binding
                WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName}
              UNION ALL SELECT server_key_version, server_key_index FROM binding_version
                WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName}) p)
          ON CONFLICT DO NOTHING`),
      ),

    moveVersion: ({ accountId, chainName }, { index, version }) =>
      change({ accountId, chainName }, (tx) =>
        tx.execute(sql`
          UPDATE binding_version v SET server_key_index = ${index}
          WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND server_key_version = ${version}
            AND NOT EXISTS (SELECT FROM binding b WHERE b.account_id = v.account_id AND b.chain_name = v.chain_name
              AND b.server_key_index >= ${index}::int)
            AND NOT EXISTS (SELECT FROM binding_version o WHERE o.account_id = v.account_id AND o.chain_name = v.chain_name
              AND (o.server_key_version < v.server_key_version AND o.server_key_index >= ${index}::int
                OR o.server_key_version > v.server_key_version AND o.server_key_index <= ${index}::int))`),
      ),

    takeBackVersion: ({ accountId, chainName }, version) =>
      change({ accountId, chainName }, (tx) =>
        tx.execute(sql`
          DELETE FROM binding_version v
          WHERE account_id = ${accountId}::uuid AND chain_name = ${chainName} AND server_key_version = ${version}
            AND NOT EXISTS (SELECT FROM binding_version o WHERE o.account_id = v.account_id AND o.chain_name = v.chain_name
              AND o.server_key_version > v.server_key_version)`),
      ),

    async bound(chainName, accountIds) {
      const rows = await postgres.query<{ account_id: string }>(sql`
        SELECT account_id FROM binding WHERE chain_name = ${chainName} AND account_id = ANY(${accountIds}::uuid[])`);
      return rows.map((row) => row.account_id);
    },
  };
}
