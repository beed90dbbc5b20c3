import { systemClock, uuidv7 } from "@countersign/core";
import {
  CHAIN_ARGUMENTS,
  changedAccounts,
  command,
  RESTORE_ARGUMENTS,
  RESTORE_MS,
  runRestore,
} from "@countersign/runtime";
import { followChain } from "../domain/follow-chain.ts";
import type { ChainKeys } from "../domain/ports.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { keyEventRow } from "../store/key-event.ts";
import { postgresKeyStore } from "../store/postgres-key-store.ts";

/** Time for `auth register-again`, before a key that it registers is reported as unregistered. */
const ALERT_AFTER_MS = 30 * 60_000;

/**
 * `key restore`: reads the keys of the accounts that changed on chain since, before the service may answer
 * with any: revoked ones sign in no more. Says again which accounts have left.
 */
export const restore = command({
  usage: `restore ${RESTORE_ARGUMENTS.usage} ${CHAIN_ARGUMENTS.usage}`,
  about: "Opens key's database after a restore: copies revocations and additions from the chain first.",
  options: { ...RESTORE_ARGUMENTS.options, ...CHAIN_ARGUMENTS.options },
  async run({ values, env, print }) {
    const stated = RESTORE_ARGUMENTS.read(this.usage, values);
    const { lines, found } = CHAIN_ARGUMENTS.read(this.usage, values);
    const changed = changedAccounts(lines, found);
    await runRestore("key", env, stated, PrismaClient, async ({ postgres, prisma }) => {
      const byAccount = Map.groupBy(changed, ({ accountId }) => accountId);
      const list = async (accountId: string): Promise<ChainKeys[]> =>
        byAccount.get(accountId)!.map(({ chainName, height, keys }) => ({
          ...{ chainName, height },
          keys: keys.flatMap(({ algorithm, publicKey, ...key }) =>
            algorithm ? [{ ...key, publicKey: { algorithm, publicKey } }] : [],
          ),
        }));
      const follow = followChain({
        store: postgresKeyStore(prisma, postgres, RESTORE_MS),
        chain: { list },
        clock: systemClock,
        newId: () => uuidv7(systemClock),
        alertAfterMs: ALERT_AFTER_MS,
      });
      for (const accountId of byAccount.keys()) await follow({ accountId, requestId: "" });
      print(`${byAccount.size} accounts changed on chain since: their keys are as the chain has them`);
      const left = await prisma.leftAccount.findMany({ where: { leftAt: { gte: stated.since } } });
      await prisma.outbox.createMany({
        data: left.map(({ accountId, leftAt }) => keyEventRow({ type: "account-left", accountId, occurredAt: leftAt })),
      });
      print(`${left.length} accounts have left since, and are emitted again`);
    });
  },
});
