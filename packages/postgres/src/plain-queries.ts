import pg from "pg";
import { connectionSettings, type Timeouts } from "./connections.ts";

/** Runs statements given as tagged templates, like Prisma's `$queryRaw`. */
export interface PlainQueries {
  /** Returns rows in Prisma's types: int8 is a bigint. Errors: those of pg. */
  query<Row>(parts: TemplateStringsArray, ...values: readonly unknown[]): Promise<Row[]>;
  close(): Promise<void>;
}

const INT8 = 20;
const types = {
  getTypeParser: ((oid: number, format?: "text") =>
    oid === INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};

/**
 * Creates plain queries for statements on the hot path: Prisma takes several times as long as the driver. It
 * has its own connections, so that no other work of the process queues before it. Each statement in the code
 * is prepared once per connection.
 */
export function createPlainQueries(
  databaseUrl: string,
  onError: (error: unknown) => void,
  { connections = 2, timeouts }: { connections?: number; timeouts?: Timeouts } = {},
): PlainQueries {
  const pool = new pg.Pool({ ...connectionSettings(databaseUrl, timeouts), max: connections, types });
  // An idle connection broke; the next query opens a new one.
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
