import { accountsAfter, createActionLog } from "@countersign/admin-actions";
import { asPort } from "@countersign/core";
import type { ServiceRuntime } from "@countersign/runtime";
import type { Chain } from "../domain/creations/chain.ts";
import type { TransactionUrl } from "../to-proto.ts";
import { accountsReadings, erasePerson } from "./account-readings.ts";
import { postgresChainReadings } from "./chain-readings.ts";
import { deleteExpiredRows } from "./delete-expired-rows.ts";
import { PrismaClient } from "./generated/client.ts";
import { heightsIn } from "./lease-height.ts";
import { postgresAccountStore } from "./postgres-account-store.ts";
import { ensureProposalKeys, postgresCreationStore } from "./postgres-creation-store.ts";
import { postgresKeyWatchStore } from "./postgres-key-watch-store.ts";
import { prismaKeyAdditionStore } from "./prisma-key-addition-store.ts";
import { prismaServerKeyRotationStore } from "./prisma-server-key-rotation-store.ts";
import { rememberAccounts } from "./remembered-accounts.ts";

const HOUSEKEEPING_MS = 60_000;

/** Opens the account database, with a row for each key of a creator; connections close with the process. */
export async function openStores(
  runtime: ServiceRuntime,
  chains: ReadonlyMap<string, Chain>,
  transactionUrl: TransactionUrl,
) {
  const { prisma, postgres } = await runtime.database(PrismaClient);
  const ensureKeys = async () => {
    for (const { chainName, creator } of chains.values()) await ensureProposalKeys(prisma, chainName, creator.keyCount);
  };
  await ensureKeys();
  const stored = asPort("accounts", postgresAccountStore(prisma, postgres));
  const remembered = rememberAccounts(stored.find, () => chains.keys());
  const firstKeyId = (chainName: string) => chains.get(chainName)?.creator.firstKeyId;
  const deleteExpired = deleteExpiredRows(postgres);
  runtime.every(HOUSEKEEPING_MS, "housekeeping", async () => {
    await ensureKeys();
    return deleteExpired(runtime.clock.now());
  });
  return {
    stored,
    remembered,
    administration: {
      actions: createActionLog(postgres, runtime.clock),
      readings: accountsReadings(postgres, chains),
      accountsAfter: accountsAfter(postgres, "account", "id"),
    },
    erasePerson: erasePerson(postgres),
    additions: asPort("additions", prismaKeyAdditionStore(prisma)),
    creations: asPort("creations", postgresCreationStore(postgres, { transactionUrl, firstKeyId })),
    keyWatch: asPort("keyWatch", postgresKeyWatchStore(prisma, postgres), {
      advance: (_chain, _heights, { changed, alerts }) =>
        [changed.size > 0 && "changes", alerts.length > 0 && "alerts"].filter(Boolean).join(", "),
    }),
    rotations: asPort("rotations", prismaServerKeyRotationStore(prisma)),
    readings: postgresChainReadings(postgres),
    settlements: asPort("settlements", heightsIn(postgres, "budget_settlement")),
  };
}
