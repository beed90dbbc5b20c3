import { uuidv7 } from "@countersign/core";
import { outboxRow } from "@countersign/events";
import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { Event } from "@countersign/proto/events/v1/events.ts";
import type { AccountAddress, AccountDeployment, DeploymentState } from "../domain/accounts/account.ts";
import type { AccountStore } from "../domain/ports.ts";
import type { PrismaClient } from "./generated/client.ts";

interface Row {
  id: string;
  profile_image_url: string;
  created_at: Date;
  updated_at: Date;
  addresses: AccountAddress[];
  parents: AccountAddress[];
  /** Null, as are the other columns of the deployment, where there is none. */
  state: DeploymentState | null;
  user_key_algorithm: PublicKey["algorithm"];
  user_key: string;
  last_error: string;
  transaction_id: string | null;
}

const toAccountDeployment = (row: Row, chainName: string): AccountDeployment => ({
  account: {
    id: row.id,
    profileImageUrl: row.profile_image_url,
    addresses: row.addresses,
    parents: row.parents,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  },
  deployment:
    row.state === null
      ? undefined
      : {
          accountId: row.id,
          chainName,
          userKey: { algorithm: row.user_key_algorithm, publicKey: row.user_key },
          state: row.state,
          transactionId: row.transaction_id ?? "",
          lastError: row.last_error,
        },
});

/** Accounts in Postgres. */
export function prismaAccountStore(prisma: PrismaClient): AccountStore {
  const find: AccountStore["find"] = async (accountId, chainName) => {
    // One statement, one snapshot: with two, a deployment could complete in between and be returned without
    // addresses.
    const [row] = await prisma.$queryRaw<Row[]>`
      SELECT a.id, a.profile_image_url, a.created_at, a.updated_at,
        (SELECT coalesce(json_agg(json_build_object('chainName', chain_name, 'chainType', chain_type, 'address', address,
            'chainId', chain_id) ORDER BY chain_name, chain_type), '[]')
          FROM address WHERE account_id = a.id) AS addresses,
        (SELECT coalesce(json_agg(json_build_object('chainName', chain_name, 'chainType', 'cadence', 'address', address,
            'chainId', chain_id) ORDER BY chain_name, address), '[]')
          FROM parent WHERE account_id = a.id) AS parents,
        d.state, d.user_key_algorithm, d.user_key, d.last_error, c.transaction_id
      FROM account AS a
      LEFT JOIN deployment AS d ON d.account_id = a.id AND d.chain_name = ${chainName}
      LEFT JOIN creation AS c ON c.id = d.creation_id
      WHERE a.id = ${accountId}::uuid`;
    return row && toAccountDeployment(row, chainName);
  };

  return {
    find,
    async queue({ accountId, chainName, userKey, profileImageUrl }, now) {
      await prisma.$executeRaw`
        WITH new_account AS (
          INSERT INTO account (id, profile_image_url, created_at, updated_at)
          VALUES (${accountId}::uuid, ${profileImageUrl}, ${now}, ${now})
          ON CONFLICT DO NOTHING),
        queued AS (
          INSERT INTO deployment AS d (account_id, chain_name, user_key_algorithm, user_key, state, batch_limit, queued_at)
          VALUES (${accountId}::uuid, ${chainName}, ${userKey.algorithm}, ${userKey.publicKey}, 'queued',
            ${MAX_ACCOUNTS_PER_CREATION}, ${now})
          ON CONFLICT (account_id, chain_name) DO UPDATE SET state = 'queued', queued_at = EXCLUDED.queued_at, creation_id = NULL
            WHERE d.state = 'failed' AND d.user_key = EXCLUDED.user_key
          RETURNING 1)
        SELECT pg_notify('creation', '') FROM queued`;
      return (await find(accountId, chainName))!;
    },

    setParents: (accountId, parents, now) =>
      prisma.$transaction(async (tx) => {
        // Two reports at once: the later one sees what the other wrote.
        await tx.$executeRaw`SELECT 1 FROM account WHERE id = ${accountId}::uuid FOR UPDATE`;
        const known = await tx.parent.findMany({ where: { accountId } });
        const keyOf = ({ chainName, address }: { chainName: string; address: string }) => `${chainName}/${address}`;
        const there = new Set(known.map(keyOf));
        const wanted = new Set(parents.map(keyOf));
        if (there.size === wanted.size && [...wanted].every((key) => there.has(key))) return;
        await tx.parent.deleteMany({ where: { accountId } });
        await tx.parent.createMany({
          data: parents.map(({ chainName, address, chainId }) => ({ accountId, chainName, address, chainId })),
        });
        await tx.account.update({ where: { id: accountId }, data: { updatedAt: now } });
        const id = uuidv7({ now: () => now });
        const message = Event.encode({ id, occurredAt: now, accountId, requestId: "", accountUpdated: {} }).finish();
        await tx.outbox.create({
          data: outboxRow({ service: "account", accountId, event: "account-updated", message, id, createdAt: now }),
        });
      }),
  };
}
