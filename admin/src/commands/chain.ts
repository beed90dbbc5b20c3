import { UsageError } from "@countersign/runtime";
import { type Asked, adminCommand } from "../admin-command.ts";
import { BALANCE_COLUMNS, neutralize } from "../output.ts";

export const balances = adminCommand({
  usage: "balances [<account id>]",
  about: "Shows the FLOW of the paymaster and the creator, and of an account.",
  arguments: [0, 1],
  async run({ services, reason, given, table }) {
    const { balances: found } = await services.account.listBalances({ reason, accountId: given[0] ?? "" });
    table(found, BALANCE_COLUMNS);
  },
});

type Compared = AsyncIterable<{ accountId: string; differences: string[] }>;

const EVERY = 100;

/** Prints the accounts of a stream that differ. Returns how many there were and differ, and the last one. */
async function showDifferences(asked: Asked, by: string, compared: Compared) {
  let [accounts, differing, last] = [0, 0, ""];
  for await (const { accountId, differences } of compared) {
    accounts += 1;
    last = accountId;
    if (accounts % EVERY === 0) asked.progress(`${by}: ${accounts} accounts compared, ${differing} differ`);
    if (differences.length === 0) continue;
    differing += 1;
    asked.show({ accountId, by, differences }, () =>
      differences.map((difference) => `${accountId}  ${by}: ${neutralize(difference)}`),
    );
  }
  asked.progress(`${by}: ${accounts} accounts compared, ${differing} differ`);
  return { accounts, differing, last };
}

export const drift = adminCommand({
  usage: "drift <account id> | --all [--after <account id>] [--limit <n>]",
  about: "Compares keys on chain with those of key and of the signer; changes nothing. Exit code 1 where they differ.",
  options: ["after", "limit"],
  flags: ["all"],
  arguments: [0, 1],
  async run(asked) {
    const { services, reason, given, option, flag } = asked;
    if (flag("all") === given.length > 0) throw new UsageError(this.usage, "an account, or --all");
    const limit = asked.limit(1_000);
    const request = { reason, accountId: given[0] ?? "", afterAccountId: option("after") ?? "", limit };
    const byKey = await showDifferences(asked, "key", services.key.compareKeys(request));
    const byAccount = await showDifferences(asked, "account and signer", services.account.compareAccounts(request));
    // The next page begins where the shorter one of the two ended.
    const full = [byKey, byAccount].filter(({ accounts }) => accounts === limit).map(({ last }) => last);
    if (flag("all") && full.length > 0) asked.progress(`there may be more: --after ${full.sort()[0]}`);
    return byKey.differing + byAccount.differing > 0 ? 1 : 0;
  },
});
