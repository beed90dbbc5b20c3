import { type KeyColumn, primaryKeyOf, type Queries, type Statement } from "@countersign/postgres";
import type { Row, Table } from "@countersign/proto/admin/v1/admin.ts";

/** A term that names accounts. */
export type Term =
  | { readonly kind: "id" | "email" | "address" | "key"; readonly text: string }
  | { readonly kind: "identity"; readonly issuer: string; readonly subject: string };

/** A table with rows about accounts. */
export interface AccountTable {
  readonly name: string;
  /** Default: account_id. */
  readonly column?: string;
  /** The newest rows, by this column, come first. */
  readonly newest: string;
  /** Columns that nobody is shown: secrets, and bytes that mean nothing to people. */
  readonly without?: readonly string[];
  /** Columns that are about others, such as an administrator: ExportPerson leaves them out. */
  readonly withoutInExport?: readonly string[];
  /** It has nothing about the person: ExportPerson leaves it out. */
  readonly isNotExported?: boolean;
}

/** The answers of the gRPC service admin.v1.Admin. */
export interface AccountReadings {
  /** Returns the ids of at most 20 accounts. */
  find(term: Term): Promise<string[]>;
  describe(accountId: string): Promise<Table[]>;
  /** Returns tables about all accounts. */
  overview(): Promise<Table[]>;
  /** Yields every row about an account, as JSON. */
  exportRows(accountId: string): AsyncIterable<{ table: string; rowJson: string }>;
}

const MAX_FOUND = 20;
const MAX_ROWS = 50;
/** Rows that are read at once: somebody with the login can leave hundreds of thousands about an account. */
const EXPORT_PAGE = 10_000;

type Values = Record<string, unknown>;

/** Members of JSON columns that nobody is shown: a device's attributes have its push token. */
const SECRET_MEMBERS = ["pushToken"];

const isPlain = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/** Returns an object without some members, and without secrets at any depth. */
function withoutMembers(object: Values, names: readonly string[]): Values {
  const cleaned = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(cleaned);
    return isPlain(value) ? withoutMembers(value, SECRET_MEMBERS) : value;
  };
  const kept = Object.entries(object).filter(([name]) => !names.includes(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, cleaned(value)]));
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Buffers have a toJSON of their own, which JSON.stringify calls first. */
function forJson(this: Values, name: string, value: unknown): unknown {
  const given = this[name];
  if (given instanceof Uint8Array) return Buffer.from(given).toString("hex");
  return typeof value === "bigint" ? String(value) : value;
}

function toTable(name: string, rows: readonly Values[]): Table {
  const columns = Object.keys(rows[0] ?? {});
  const shown = rows.slice(0, MAX_ROWS);
  const toRow = (row: Values): Row => ({ values: columns.map((column) => toText(row[column])) });
  return { name, columns, rows: shown.map(toRow), truncated: rows.length > MAX_ROWS };
}

/** Names of tables and columns are ours; the account and the limit are values. */
const rowsOf = (
  { name, column = "account_id", newest }: AccountTable,
  accountId: string,
  limit: number,
): Statement => ({
  name: `rows of ${name}`,
  text: `SELECT * FROM "${name}" WHERE "${column}" = $1::uuid ORDER BY "${newest}" DESC LIMIT $2::int`,
  values: [accountId, limit],
});

/** Returns the statement for the page after a row, or for the first page, in the order of the primary key. */
function pageOf(table: AccountTable, key: readonly KeyColumn[], accountId: string, after?: Values): Statement {
  const { name, column = "account_id" } = table;
  const columns = key.map((each) => `"${each.name}"`).join(", ");
  const values = key.map(({ type }, i) => `$${i + 2}::${type}`).join(", ");
  const follows = after === undefined ? "" : `AND (${columns}) > (${values})`;
  return {
    name: `${after === undefined ? "first" : "next"} page of ${name}`,
    text: `SELECT * FROM "${name}" WHERE "${column}" = $1::uuid ${follows} ORDER BY ${columns} LIMIT ${EXPORT_PAGE}`,
    values: [accountId, ...(after === undefined ? [] : key.map((each) => after[each.name]))],
  };
}

/** Returns what makes a statement that finds accounts: it selects `account_id`. */
type Finder = (term: Term) => Statement | undefined;

/** Reads the newest rows of something, at most `limit`. */
type Newest = (limit: number) => Promise<object[]>;

/**
 * Answers from tables. `finder` returns undefined where a term cannot name an account here; `computed` adds
 * what no table has, and `overviews` are the tables about all accounts.
 */
export function accountReadings(
  queries: Queries,
  tables: readonly AccountTable[],
  finder: Finder,
  computed: Readonly<Record<string, (accountId: string, limit: number) => Promise<object[]>>> = {},
  overviews: Readonly<Record<string, Newest>> = {},
): AccountReadings {
  async function read(table: AccountTable, statement: Statement): Promise<Values[]> {
    const rows = await queries.query<Values>(statement);
    return rows.map((row) => withoutMembers(row, table.without ?? []));
  }
  return {
    async find(term) {
      const statement = finder(term);
      if (!statement) return [];
      const rows = await queries.query<{ account_id: string }>(statement);
      return [...new Set(rows.map(({ account_id }) => account_id))].slice(0, MAX_FOUND);
    },

    async describe(accountId) {
      const found: Table[] = [];
      for (const table of tables)
        found.push(toTable(table.name, await read(table, rowsOf(table, accountId, MAX_ROWS + 1))));
      for (const [name, rows] of Object.entries(computed))
        found.push(toTable(name, (await rows(accountId, MAX_ROWS + 1)) as Values[]));
      return found.filter(({ rows }) => rows.length > 0);
    },

    async overview() {
      const found: Table[] = [];
      for (const [name, newest] of Object.entries(overviews))
        found.push(toTable(name, (await newest(MAX_ROWS + 1)) as Values[]));
      return found;
    },

    async *exportRows(accountId) {
      for (const table of tables.filter(({ isNotExported }) => !isNotExported)) {
        const key = await primaryKeyOf(queries, table.name);
        let rows: Values[] = [];
        do {
          rows = await read(table, pageOf(table, key, accountId, rows.at(-1)));
          for (const row of rows)
            yield {
              table: table.name,
              rowJson: JSON.stringify(withoutMembers(row, table.withoutInExport ?? []), forJson),
            };
        } while (rows.length === EXPORT_PAGE);
      }
    },
  };
}
