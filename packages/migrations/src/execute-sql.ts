import pg from "pg";

/** Runs `work` with a connection of its own, which ends with it. */
export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Runs statements one after the other, outside of a transaction. */
export const executeSql = (url: string, statements: readonly string[]): Promise<void> =>
  withClient(url, async (client) => {
    for (const statement of statements) await client.query(statement);
  });
