import { isAppError } from "@countersign/core";
import type { DescribeAccountResponse } from "@countersign/proto/admin/v1/admin.ts";
import { UsageError } from "@countersign/runtime";
import { type Asked, adminCommand } from "../admin-command.ts";
import { describedLines, neutralize } from "../output.ts";
import { SERVICES, type ServiceName } from "../services.ts";
import { termOf } from "../term.ts";

type Answers<T> = Record<ServiceName, T | { readonly error: string }>;

/** Asks every service. A service that does not answer must not hide the answers of the others. */
async function askEach<T>(ask: (service: ServiceName) => Promise<T>): Promise<Answers<T>> {
  const answers = SERVICES.map(async (service) => {
    try {
      return [service, await ask(service)] as const;
    } catch (error) {
      if (!isAppError(error)) throw error;
      if (error.reason === "InvalidRequest" || error.reason === "CallerNotAllowed") throw error;
      return [service, { error: `${error.reason}: ${error.detail}` }] as const;
    }
  });
  return Object.fromEntries(await Promise.all(answers)) as Answers<T>;
}

const isError = (answer: object): answer is { readonly error: string } => "error" in answer;

/** Prints everything that the services have about an account. Returns the exit code. */
async function describe({ services, reason, show }: Asked, accountId: string): Promise<number> {
  const answers = await askEach((service) => services.each[service].describeAccount({ reason, accountId }));
  const entries = Object.entries(answers) as [ServiceName, DescribeAccountResponse | { error: string }][];
  show({ accountId, ...answers }, () => [
    `account ${accountId}`,
    ...entries.flatMap(([service, answer]) =>
      isError(answer)
        ? ["", `${service}: no answer: ${neutralize(answer.error)}`]
        : answer.tables.flatMap((table) => describedLines(service, table)),
    ),
  ]);
  return entries.some(([, answer]) => isError(answer)) ? 1 : 0;
}

export const find = adminCommand({
  usage: "find <id | e-mail | address | key | 'issuer subject'>",
  about: "Finds an account by any id, e-mail address, address or key, and shows what every service has about it.",
  arguments: [1, 1],
  async run(asked) {
    const { services, reason, show, given } = asked;
    const term = termOf(given[0]!);
    if (!term) throw new UsageError(this.usage, "not an id, e-mail address, address or key");
    const answers = await askEach((service) => services.each[service].findAccounts({ reason, ...term }));
    const failed = Object.entries(answers).filter(([, answer]) => isError(answer));
    const ids = Object.values(answers).flatMap((answer) => (isError(answer) ? [] : answer.accountIds));
    const [accountId, ...others] = [...new Set(ids)];
    for (const [service, answer] of failed)
      asked.progress(`${service}: no answer: ${(answer as { error: string }).error}`);
    if (accountId === undefined) {
      show({ accountIds: [] }, () => ["no account"]);
      return 1;
    }
    if (others.length === 0) return Math.max(await describe(asked, accountId), failed.length > 0 ? 1 : 0);
    show({ accountIds: [accountId, ...others] }, () => ["several accounts:", accountId, ...others]);
    return failed.length > 0 ? 1 : 0;
  },
});
