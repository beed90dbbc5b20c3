import pg from "pg";
import { connectionSettings, type Patience } from "./connections.ts";

/** Statements by tagged template, as Prisma's `$queryRaw` takes them. */
export interface PlainQueries {
  /** Rows as Prisma gives them: int8 is a bigint. Errors: those of pg. */
  query<Row>(parts: TemplateStringsArray, ...values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

const INT8 = 20;
const types = {
  getTypeParser: ((oid: number, format?: "text") =>
    oid === INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * Plain queries for a statement that every request waits for: Prisma takes a multiple of what the driver needs for it. Connections of its own,
 * so that nothing else of the process stands before it; prepared once for each, so that only as many statements as are written out in the code.
 */
export function createPlainQueries(
  databaseUrl: string,
  onError: (error: unknown) => void,
  { connections = 2, patience }: { connections?: number; patience?: Patience } = {},
): PlainQueries {
  const pool = new pg.Pool({ ...connectionSettings(databaseUrl, patience), max: connections, types });
  // A connection that breaks while it waits; the next query makes a new one.
  pool.on("error", onError);
  const statements = new WeakMap<TemplateStringsArray, { name: string; text: string }>();
  let named = 0;
  const statementOf = (parts: TemplateStringsArray) => {
    let statement = statements.get(parts);
    if (statement === undefined) {
      const text = parts.reduce((before, part, i) => `${before}$${i}${part}`);
      statement = { name: `plain${named++}`, text };
      statements.set(parts, statement);
    }
    return statement;
  };
  return {
    query: async (parts, ...values) => (await pool.query({ ...statementOf(parts), values: [...values] })).rows,
    close: () => pool.end(),
  };
}
