import { type Postgres, sqlFile } from "@countersign/postgres";
import type { OpenSagas } from "@countersign/runtime";

const openSignUps = sqlFile(new URL("../../sql/open-sign-ups.sql", import.meta.url));

/** Returns what reads the unfinished sign-ups of these chains, by an index. */
export const readOpenSignUps = (postgres: Postgres) => (chains: readonly string[]) =>
  postgres.query<OpenSagas>(openSignUps({ chains }));
