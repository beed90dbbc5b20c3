import { isAppError } from "@countersign/core";
import type { Action, Table } from "@countersign/proto/admin/v1/admin.ts";
import { BALANCE_COLUMNS, type Columns } from "../output.ts";
import { DECIDING, SERVICES, type ServiceName, type Services } from "../services.ts";
import { termOf } from "../term.ts";
import type { Section } from "./page.ts";

function toSection<Row>(title: string, rows: readonly Row[], columns: Columns<Row>): Section {
  const values = rows.map((row) => ({ values: Object.values(columns).map((cell) => cell(row)) }));
  return { title, columns: Object.keys(columns), rows: values, truncated: false };
}

/** Reads sections; a service that does not answer must not hide the others. */
async function readOr(title: string, read: () => Promise<readonly Section[]>): Promise<readonly Section[]> {
  try {
    return await read();
  } catch (error) {
    if (!isAppError(error)) throw error;
    return [{ title, problem: `${error.reason} ${error.detail}` }];
  }
}

/** Reads the tables of a service. */
const readTables = (service: ServiceName, read: () => Promise<{ tables: Table[] }>) =>
  readOr(service, async () =>
    (await read()).tables.map(({ name, ...table }) => ({ title: `${service}: ${name}`, ...table })),
  );

const timeOf = (at: Date | undefined): string => at?.toISOString() ?? "";

/** Of commands that were done, and of those that wait for another person. */
const COMMAND_COLUMNS: Columns<Action> = {
  at: ({ at }) => timeOf(at),
  person: ({ person }) => person,
  command: ({ command }) => command,
  account_id: ({ accountId }) => accountId,
  reason: ({ reason }) => reason,
};

/** Reads what an operator looks at first. */
export async function readOverview(services: Services, reason: string): Promise<Section[]> {
  const { each, account, auth, signer } = services;
  const sections = await Promise.all([
    readOr("Balances", async () => {
      const { balances } = await account.listBalances({ reason, accountId: "" });
      return [toSection("Balances", balances, BALANCE_COLUMNS)];
    }),
    readOr("Holds", async () => {
      const { holds } = await auth.listHolds({ reason, accountId: "" });
      return [
        toSection("Holds", holds.toReversed(), {
          at: ({ placedAt }) => timeOf(placedAt),
          account_id: ({ accountId }) => accountId,
          event: ({ eventType }) => eventType,
          chain: ({ chainName }) => chainName,
          alert: ({ alertId }) => alertId,
        }),
      ];
    }),
    ...DECIDING.map((service) => {
      const title = `Requests at ${service} that wait for another person`;
      return readOr(title, async () => {
        const { requests } = await services[service].listRequests({ reason });
        return [toSection(title, requests, { ...COMMAND_COLUMNS, id: ({ id }) => id })];
      });
    }),
    ...SERVICES.map((service) => readTables(service, () => each[service].describeService({ reason }))),
    readOr("Policy in effect", async () => {
      const { currentVersion, current } = await signer.checkPolicy({ reason, policyJson: "" });
      const lines = current.map((line) => /^([^:]*): (.*)$/s.exec(line) ?? ["", line, ""]);
      const columns = { setting: (line: string[]) => line[1] ?? "", value: (line: string[]) => line[2] ?? "" };
      return [toSection(`Policy in effect: ${currentVersion}`, lines, columns)];
    }),
    readOr("Commands of administrators", async () => {
      const { actions } = await each.auth.listActions({ reason, accountId: "", beforeId: "", limit: 20 });
      return [
        toSection("Commands of administrators at auth", actions, {
          ...COMMAND_COLUMNS,
          outcome: ({ outcome }) => outcome,
        }),
      ];
    }),
  ]);
  return sections.flat();
}

/** Reads what every service has about an account. */
export async function readAccount({ each }: Services, reason: string, accountId: string): Promise<Section[]> {
  const read = SERVICES.map((service) =>
    readTables(service, () => each[service].describeAccount({ reason, accountId })),
  );
  return (await Promise.all(read)).flat();
}

/** Returns the ids of the accounts that a term names; undefined where it is no term. */
export async function findAccounts({ each }: Services, reason: string, text: string): Promise<string[] | undefined> {
  const term = termOf(text);
  if (!term) return undefined;
  // The page of the account says which service does not answer.
  const answers = await Promise.allSettled(SERVICES.map((service) => each[service].findAccounts({ reason, ...term })));
  const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value.accountIds : []));
  for (const answer of answers) if (answer.status === "rejected" && found.length === 0) throw answer.reason;
  return [...new Set(found)];
}
