import { activeTrace, formatTraceParent } from "@countersign/core";
import { eventRow } from "@countersign/events";
import { MAX_ACCOUNTS_PER_CREATION } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { createShardBatcher, type Postgres, sql, sqlFile } from "@countersign/postgres";
import type { AccountAddress, AccountDeployment, DeploymentState } from "../domain/accounts/account.ts";
import type { AccountOnChain, AccountStore } from "../domain/ports.ts";
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
          chainName,
          userKey: { algorithm: row.user_key_algorithm, publicKey: row.user_key },
          state: row.state,
          transactionId: row.transaction_id ?? "",
        },
});

const sqlOf = (name: string) => new URL(`../../sql/${name}.sql`, import.meta.url);
const findStatement = sqlFile(sqlOf("find-accounts"));
const cancelStatement = sqlFile(sqlOf("cancel-deployment"));
const queueStatement = sqlFile(sqlOf("queue-deployment"));

interface EndedDeployments {
  /** Returns those of the deployments that are not under way any more. */
  findEnded(deployments: readonly AccountOnChain[]): Promise<AccountOnChain[]>;
}

/** Keeps accounts in Postgres. Prisma is not used where every sign-up or request passes. */
export function postgresAccountStore(prisma: PrismaClient, postgres: Postgres): AccountStore & EndedDeployments {
  /** Requests that wait share a statement. */
  const findTogether = createShardBatcher(
    postgres,
    ({ accountId }: AccountOnChain) => accountId,
    async (asked) => {
      const accountIds = asked.map(({ accountId }) => accountId);
      const chainNames = asked.map(({ chainName }) => chainName);
      const rows = await postgres.query<Row & { at: number }>(findStatement({ accountIds, chainNames }));
      const found = new Map(rows.map((row) => [row.at, row]));
      return asked.map(({ chainName }, i) => {
        const row = found.get(i + 1);
        return row && toAccountDeployment(row, chainName);
      });
    },
  );
  const find: AccountStore["find"] = (accountId, chainName) => findTogether({ accountId, chainName });

  return {
    find,

    findEnded: (deployments) =>
      postgres.query<AccountOnChain>(sql`
        SELECT account_id AS "accountId", chain_name AS "chainName" FROM deployment
        WHERE state NOT IN ('queued', 'assigned') AND account_id = ANY(${deployments.map((each) => each.accountId)}::uuid[])
          AND chain_name = ANY(${[...new Set(deployments.map((each) => each.chainName))]})`),

    async queue({ accountId, chainName, userKey, profileImageUrl, keepFailed = false }, now) {
      const trace = activeTrace();
      const queued = await postgres.execute(
        queueStatement({
          accountId,
          chainName,
          algorithm: userKey.algorithm,
          publicKey: userKey.publicKey,
          profileImageUrl,
          keepFailed,
          batchLimit: MAX_ACCOUNTS_PER_CREATION,
          now,
          traceparent: trace === undefined ? "" : formatTraceParent(trace),
        }),
      );
      return queued === 1 ? undefined : (await find(accountId, chainName))!;
    },

    async cancel({ accountId, chainName, userKey: { algorithm, publicKey } }, now) {
      await postgres.execute(cancelStatement({ accountId, chainName, algorithm, publicKey, now }));
      return (await find(accountId, chainName))!.deployment!.state;
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
        const context = { accountId, occurredAt: now };
        await tx.outbox.create({ data: eventRow("account", "account-updated", context, { accountUpdated: {} }) });
      }),
  };
}
