import { PrismaPg } from "@prisma/adapter-pg";
import type pg from "pg";

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
 * Returns an adapter for `new PrismaClient({ adapter })` that uses a pool and does not close it. Statements
 * are prepared: a connection pooler before Postgres must keep the prepared statements of its sessions apart.
 */
export const adapterOn = (pool: pg.Pool): PrismaPg =>
  new PrismaPg(pool, { statementNameGenerator: createStatementNames() });
