import { parseTraceParent, uuidv7 } from "@countersign/core";
import { eventRow } from "@countersign/events";
import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { claimRows, type Postgres, type Queries, sql } from "@countersign/postgres";
import type { TransactionReference } from "@countersign/proto/common/v1/types.ts";
import type { AccountAddress } from "../domain/accounts/account.ts";
import { NO_PROFILE } from "../domain/accounts/profiles.ts";
import type { CreatedAccount, Creation, CreationState } from "../domain/creations/creation.ts";
import type { CreationStore, Lease } from "../domain/ports.ts";
import { addressToProto, type TransactionUrl, transactionToProto } from "../to-proto.ts";
import type { PrismaClient } from "./generated/client.ts";
import { transactionFromJson, transactionToJson } from "./transaction-json.ts";

export interface CreationStoreOptions {
  readonly transactionUrl: TransactionUrl;
  /** The first of the creator's keys that proposes: those before were rotated out. Default 0. */
  firstKeyId?(chainName: string): number | undefined;
}

interface CreationRow
  extends Omit<Creation, "sequenceNumber" | "userKeys" | "traces" | "transaction" | "referenceHeight"> {
  sequenceNumber: bigint | null;
  /** As transactionToJson writes it. */
  transaction: unknown;
  referenceHeight: bigint | null;
}

/** The deployment of one account of a creation. */
interface Member {
  accountId: string;
  algorithm: PublicKey["algorithm"];
  publicKey: string;
  traceparent: string;
}

/** Returns the members of a creation in the order of its accounts. */
function membersOf(accountIds: readonly string[], members: readonly Member[]) {
  const byId = new Map(members.map((each) => [each.accountId, each]));
  const inOrder = accountIds.map((accountId) => byId.get(accountId)!);
  return {
    accountIds,
    userKeys: inOrder.map(({ algorithm, publicKey }) => ({ algorithm, publicKey })),
    traces: inOrder.flatMap(({ traceparent }) => parseTraceParent(traceparent) ?? []),
  };
}

/** Locks a creation that the owner still holds in one of these states. */
async function lockHeld(tx: Queries, id: string, owner: string, states: readonly CreationState[]) {
  const [row] = await tx.query<{ chainName: string; transactionId: string }>(sql`
    SELECT chain_name AS "chainName", transaction_id AS "transactionId" FROM creation
    WHERE id = ${id}::uuid AND lease_owner = ${owner}::uuid AND state = ANY(${states}) FOR UPDATE`);
  return row;
}

/** Ends a creation, and frees its key, whose next sequence number is known after a sealed one. */
async function end(tx: Queries, id: string, state: "sealed" | "failed"): Promise<void> {
  await tx.execute(sql`UPDATE creation SET state = ${state} WHERE id = ${id}::uuid`);
  await tx.execute(sql`
    UPDATE proposal_key SET creation_id = NULL,
      next_sequence_number = (SELECT sequence_number + 1 FROM creation WHERE id = ${id}::uuid AND state = 'sealed')
    WHERE creation_id = ${id}::uuid`);
}

export const addressesOf = (
  { address, evmAddress }: Pick<CreatedAccount, "address" | "evmAddress">,
  chainName: string,
  chainId: number,
): AccountAddress[] => [
  { chainName, chainType: "cadence", address, chainId },
  { chainName, chainType: "evm", address: evmAddress, chainId },
];

/** Returns the row of the event that an account is on chain; restored accounts have no transaction. */
export function deployedEvent(
  accountId: string,
  occurredAt: Date,
  addresses: readonly AccountAddress[],
  transaction?: TransactionReference,
) {
  const accountDeployed = { addresses: addresses.map((each) => addressToProto(each, NO_PROFILE)), transaction };
  return eventRow("account", "account-deployed", { accountId, occurredAt }, { accountDeployed });
}

/** Keeps creations in Postgres: the database decides who holds which deployment, key and creation. */
export function postgresCreationStore(postgres: Postgres, options: CreationStoreOptions): CreationStore {
  const { transactionUrl, firstKeyId } = options;
  return {
    async assign(chainName, { owner, now, until }: Lease) {
      // Mostly none is queued: then a transaction would be four statements for nothing.
      const queued = await postgres.query(sql`
        SELECT 1 FROM deployment WHERE state = 'queued' AND chain_name = ${chainName} ORDER BY queued_at LIMIT 1`);
      if (queued.length === 0) return undefined;
      return postgres.transaction(async (tx) => {
        // One assignment of a chain at a time: two would choose the same deployments.
        await tx.execute(sql`
          SELECT 1 FROM proposal_key WHERE chain_name = ${chainName} ORDER BY key_index LIMIT 1 FOR UPDATE`);
        const waiting = await tx.query<{ accountId: string; batchLimit: number }>(sql`
          SELECT account_id AS "accountId", batch_limit AS "batchLimit" FROM deployment
          WHERE state = 'queued' AND chain_name = ${chainName}
          ORDER BY batch_limit, queued_at LIMIT ${MAX_ACCOUNTS_PER_CREATION}::int`);
        const [first] = waiting;
        if (!first) return undefined;
        const [key] = await tx.query<{ keyIndex: number; sequenceNumber: bigint | null }>(sql`
          SELECT key_index AS "keyIndex", next_sequence_number AS "sequenceNumber" FROM proposal_key
          WHERE chain_name = ${chainName} AND creation_id IS NULL AND key_index >= ${firstKeyId?.(chainName) ?? 0}::int
          ORDER BY key_index LIMIT 1 FOR UPDATE SKIP LOCKED`);
        if (!key) return undefined;
        const { keyIndex, sequenceNumber } = key;
        // The smallest limit comes first: halves of a failed batch stay separate from other deployments.
        const chosen = waiting
          .filter((each) => each.batchLimit === first.batchLimit)
          .slice(0, first.batchLimit)
          .map((each) => each.accountId);
        const id = uuidv7({ now: () => now });
        await tx.execute(sql`
          INSERT INTO creation (id, chain_name, key_index, sequence_number, account_ids, server_keys, state, lease_owner,
            lease_until, created_at)
          VALUES (${id}::uuid, ${chainName}, ${keyIndex}::int, ${sequenceNumber}::int8, ${chosen}::uuid[], '{}',
            'assigned', ${owner}::uuid, ${until}::timestamptz, ${now}::timestamptz)`);
        const assigned = await tx.query<Member>(sql`
          UPDATE deployment SET state = 'assigned', creation_id = ${id}::uuid
          WHERE chain_name = ${chainName} AND account_id = ANY(${chosen}::uuid[]) AND state = 'queued'
          RETURNING account_id AS "accountId", user_key_algorithm AS algorithm, user_key AS "publicKey", traceparent`);
        if (assigned.length === 0) {
          await tx.execute(sql`DELETE FROM creation WHERE id = ${id}::uuid`);
          return undefined;
        }
        await tx.execute(sql`
          UPDATE proposal_key SET creation_id = ${id}::uuid, next_sequence_number = NULL
          WHERE chain_name = ${chainName} AND key_index = ${keyIndex}`);
        // A deployment may have been cancelled meanwhile.
        const isLeft = new Set(assigned.map(({ accountId }) => accountId));
        const accountIds = chosen.filter((each) => isLeft.has(each));
        if (accountIds.length < chosen.length)
          await tx.execute(sql`UPDATE creation SET account_ids = ${accountIds}::uuid[] WHERE id = ${id}::uuid`);
        return {
          id,
          chainName,
          keyIndex,
          sequenceNumber: sequenceNumber ?? undefined,
          state: "assigned",
          ...membersOf(accountIds, assigned),
          serverKeys: [],
          serverKeyVersion: 1,
          transaction: undefined,
          transactionId: "",
          referenceHeight: undefined,
        };
      });
    },

    async takeOver({ owner, now, until }) {
      const [taken] = await claimRows(
        1,
        (count) =>
          postgres.query<{ id: string }>(sql`
            SELECT id FROM creation WHERE state IN ('assigned', 'signed') AND lease_until < ${now}
            ORDER BY lease_until LIMIT ${count}::int`),
        async ({ id }) => {
          const [row] = await postgres.query<CreationRow>(sql`
            UPDATE creation SET lease_owner = ${owner}::uuid, lease_until = ${until}::timestamptz
            WHERE id = ${id}::uuid AND state IN ('assigned', 'signed') AND lease_until < ${now}
            RETURNING id, chain_name AS "chainName", key_index AS "keyIndex", sequence_number AS "sequenceNumber", state,
              account_ids AS "accountIds", server_keys AS "serverKeys", server_key_version AS "serverKeyVersion",
              transaction, transaction_id AS "transactionId", reference_height AS "referenceHeight"`);
          return row;
        },
      );
      if (taken === undefined) return undefined;
      const { chainName, accountIds, sequenceNumber, transaction, referenceHeight } = taken;
      const members = await postgres.query<Member>(sql`
        SELECT account_id AS "accountId", user_key_algorithm AS algorithm, user_key AS "publicKey", traceparent
        FROM deployment WHERE chain_name = ${chainName} AND account_id = ANY(${accountIds}::uuid[])`);
      return {
        ...taken,
        ...membersOf(accountIds, members),
        sequenceNumber: sequenceNumber ?? undefined,
        transaction: transaction === null ? undefined : transactionFromJson(transaction),
        referenceHeight: referenceHeight ?? undefined,
      };
    },

    async moveLeaseEnd(id, { owner, until }) {
      const count = await postgres.execute(sql`
        UPDATE creation SET lease_until = ${until} WHERE id = ${id}::uuid AND lease_owner = ${owner}::uuid`);
      return count === 1;
    },

    async signed(id, owner, { transaction, transactionId, sequenceNumber, referenceHeight, ...keys }) {
      const count = await postgres.execute(sql`
        UPDATE creation SET transaction = ${JSON.stringify(transactionToJson(transaction))}::jsonb,
          transaction_id = ${transactionId}, sequence_number = ${sequenceNumber}::int8,
          reference_height = ${referenceHeight}::int8, server_keys = ${keys.serverKeys}::text[],
          server_key_version = ${keys.serverKeyVersion}::int, state = 'signed'
        WHERE id = ${id}::uuid AND lease_owner = ${owner}::uuid AND state = 'assigned'`);
      return count === 1;
    },

    async replace(id, owner) {
      const count = await postgres.execute(sql`
        UPDATE creation SET state = 'assigned', server_keys = '{}'
        WHERE id = ${id}::uuid AND lease_owner = ${owner}::uuid AND state = 'signed'`);
      return count === 1;
    },

    sealed: (id, owner, created, { evmChainId, now }) =>
      postgres.transaction(async (tx) => {
        const held = await lockHeld(tx, id, owner, ["signed"]);
        if (!held) return false;
        const { chainName, transactionId } = held;
        const accountIds = created.map(({ accountId }) => accountId);
        const addresses = created.map((each) => addressesOf(each, chainName, evmChainId));
        const rows = created.flatMap(({ accountId }, i) => addresses[i]!.map((address) => ({ accountId, ...address })));
        // A restore may have written them.
        await tx.execute(sql`
          INSERT INTO address (account_id, chain_name, chain_type, address, chain_id)
          SELECT account_id, ${chainName}, chain_type, address, ${evmChainId}::int
          FROM unnest(${rows.map((row) => row.accountId)}::uuid[], ${rows.map((row) => row.chainType)}::text[],
            ${rows.map((row) => row.address)}::text[]) AS n(account_id, chain_type, address)
          ON CONFLICT (account_id, chain_name, chain_type) DO NOTHING`);
        await tx.execute(sql`
          UPDATE deployment SET state = 'deployed', last_error = '', traceparent = ''
          WHERE chain_name = ${chainName} AND account_id = ANY(${accountIds}::uuid[])`);
        await tx.execute(sql`UPDATE account SET updated_at = ${now} WHERE id = ANY(${accountIds}::uuid[])`);
        const transaction = transactionToProto(transactionId, chainName, transactionUrl);
        const events = created.map(({ accountId }, i) => deployedEvent(accountId, now, addresses[i]!, transaction));
        await tx.execute(sql`
          INSERT INTO outbox (id, subject, payload, created_at, account_id)
          SELECT id, subject, payload, ${now}::timestamptz, account_id
          FROM unnest(${events.map((event) => event.id)}::uuid[], ${events.map((event) => event.subject)}::text[],
            ${events.map((event) => event.payload)}::bytea[], ${accountIds}::uuid[]) AS n(id, subject, payload, account_id)`);
        await end(tx, id, "sealed");
        return true;
      }),

    failed: (id, owner, plan, cause) =>
      postgres.transaction(async (tx) => {
        const held = await lockHeld(tx, id, owner, ["assigned", "signed"]);
        if (!held) return false;
        const requeued = "failed" in plan ? null : plan.requeueWithLimit;
        await tx.execute(sql`
          UPDATE deployment SET last_error = ${cause}, batch_limit = least(batch_limit, ${requeued}::int),
            state = ${requeued === null ? "failed" : "queued"}
          WHERE chain_name = ${held.chainName} AND creation_id = ${id}::uuid`);
        await end(tx, id, "failed");
        return true;
      }),
  };
}

/** Makes the rows of a chain's proposal keys; the same again changes nothing. */
export async function ensureProposalKeys(prisma: PrismaClient, chainName: string, keyCount: number): Promise<void> {
  const data = Array.from({ length: keyCount }, (_, keyIndex) => ({ chainName, keyIndex }));
  await prisma.proposalKey.createMany({ data, skipDuplicates: true });
}
