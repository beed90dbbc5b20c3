import { PrismaPg } from "@prisma/adapter-pg";
import { connectionSettings, type Patience } from "./connections.ts";

/** Statements beyond this are parsed each time: lists of varying length make endless many. */
const MAX_STATEMENTS = 300;

/** Names statements, so that Postgres parses and plans each once per connection: that costs it more than running most of ours. */
function createStatementNames() {
  const names = new Map<string, string>();
  return ({ sql }: { sql: string }): string => {
    let name = names.get(sql);
    if (name === undefined && names.size < MAX_STATEMENTS) {
      name = `cs${names.size}`;
      names.set(sql, name);
    }
    // The adapter takes undefined for "parse it each time", though its type does not say so.
    return name as string;
  };
}

/**
 * The adapter for `new PrismaClient({ adapter })`: a pool of 5 connections, 5 s to get one, 10 s for a statement, 12 s for a server that is gone without a word. Statements
 * are prepared: a pooler between us and Postgres must keep a session's statements apart.
 */
export function createPrismaAdapter(databaseUrl: string, pool = 5, patience?: Patience): PrismaPg {
  return new PrismaPg(
    { ...connectionSettings(databaseUrl, patience), max: pool },
    { statementNameGenerator: createStatementNames() },
  );
}
