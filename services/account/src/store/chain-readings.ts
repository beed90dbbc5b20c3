import { type Postgres, sql, sqlFile } from "@countersign/postgres";
import type { ChainReadings, OpenWork } from "../domain/ports.ts";

const openSagas = sqlFile(new URL("../../sql/open-sagas.sql", import.meta.url));

/** Reads what metrics show of a chain from Postgres. */
export const postgresChainReadings = (postgres: Postgres): ChainReadings => ({
  openSagas: (chainName) => postgres.query<OpenWork>(openSagas({ chainName })),
  async watchedHeight(chainName) {
    const [row] = await postgres.query<{ height: bigint }>(sql`
      SELECT height FROM key_watch WHERE chain_name = ${chainName}`);
    return row?.height;
  },
});
