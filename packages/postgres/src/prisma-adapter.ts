import { PrismaPg } from "@prisma/adapter-pg";
import { connectionSettings, type Timeouts } from "./connections.ts";

/** Statements beyond this number are parsed each time: lists of varying length produce unlimited texts. */
const MAX_STATEMENTS = 300;

/**
 * Names statements, so that Postgres parses and plans each once per connection: for most of our statements
 * this costs more than running them.
 */
function createStatementNames() {
  const names = new Map<string, string>();
  return ({ sql }: { sql: string }): string => {
    let name = names.get(sql);
    if (name === undefined && names.size < MAX_STATEMENTS) {
      name = `cs${names.size}`;
      names.set(sql, name);
    }
    // The adapter accepts undefined as "parse it each time", though its type does not say so.
    return name as string;
  };
}

/**
 * Creates the adapter for `new PrismaClient({ adapter })`: a pool of 5 connections, with timeouts of 5 s to
 * get one, 10 s for a statement, and 12 s for a server that answers nothing. Statements are prepared: a
 * connection pooler before Postgres must keep the prepared statements of its sessions apart.
 */
export function createPrismaAdapter(databaseUrl: string, pool = 5, timeouts?: Timeouts): PrismaPg {
  return new PrismaPg(
    { ...connectionSettings(databaseUrl, timeouts), max: pool },
    { statementNameGenerator: createStatementNames() },
  );
}
