import { systemClock } from "@countersign/core";
import { createAccessApi } from "@countersign/flow";
import { CHAIN_ARGUMENTS, command, type Found, RESTORE_ARGUMENTS, RESTORE_MS, runRestore } from "@countersign/runtime";
import { createFlowChain } from "../chain/flow.ts";
import { loadConfig } from "../config.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { emitAlertsAgain, restoreAccounts, rewindHeights } from "../store/restore-accounts.ts";

/**
 * `account restore`: records the accounts that `signer restore` found on chain, so that none is created a
 * second time, and reads the chains again from the reported blocks on.
 */
export const restore = command({
  usage: `restore ${RESTORE_ARGUMENTS.usage} ${CHAIN_ARGUMENTS.usage}`,
  about: "Opens account's database after a restore: records accounts that were found on chain, reads chains again.",
  options: { ...RESTORE_ARGUMENTS.options, ...CHAIN_ARGUMENTS.options },
  async run({ values, env, print }) {
    const stated = RESTORE_ARGUMENTS.read(this.usage, values);
    const { lines, found } = CHAIN_ARGUMENTS.read(this.usage, values);
    const ranges = lines.filter((line) => line.kind === "range");
    const { networks } = loadConfig(env);
    await runRestore("account", env, stated, PrismaClient, async ({ prisma }) => {
      for (const network of networks.current().values()) {
        const chain = createFlowChain(network, createAccessApi({ baseUrl: network.accessNode }));
        const { chainName, evmChainId } = chain;
        const ofChain = found.filter((each) => each.chainName === chainName);
        const accounts = await withEvmAddress(chain, ofChain);
        const { added, requeued } = await prisma.$transaction(
          (tx) => restoreAccounts(tx, accounts, { chainName, evmChainId, now: systemClock.now() }),
          { timeout: RESTORE_MS },
        );
        print(`${chainName}: ${added} accounts found on chain are recorded; ${requeued} deployments begin again`);
      }
      await rewindHeights(prisma, ranges);
      print(`${await emitAlertsAgain(prisma, stated.since)} alerts were raised since, and are emitted again`);
    });
  },
});

/** Returns accounts with the EVM address that their creation gave them: the owner may have hidden it. */
async function withEvmAddress(chain: ReturnType<typeof createFlowChain>, found: readonly Found[]) {
  const { signal } = new AbortController();
  const accounts: (Found & { evmAddress: string })[] = [];
  for (const [transactionId, created] of Map.groupBy(found, (each) => each.transactionId)) {
    const outcome = await chain.outcome(transactionId, signal);
    const made = outcome.status === "sealed" ? outcome.accounts : [];
    const addresses = new Map(made.map(({ address, evmAddress }) => [address, evmAddress]));
    for (const each of created) {
      const evmAddress = addresses.get(each.address);
      if (!evmAddress)
        throw new Error(`the access node does not have the creation ${transactionId}: ask one that has the history`);
      accounts.push({ ...each, evmAddress });
    }
  }
  return accounts;
}
