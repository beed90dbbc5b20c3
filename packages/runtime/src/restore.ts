import { openPostgres, type Postgres, type Restore, restoreDatabase } from "@countersign/postgres";
import { z } from "zod";
import { UsageError } from "./command.ts";
import { type Env, loadEnv } from "./config.ts";
import {
  type ChainLine,
  chainLine,
  type EventLine,
  eventLine,
  type Found,
  foundLine,
  jsonLines,
  readJsonLines,
} from "./restore-files.ts";

const RESTORE_OPTIONS = {
  since: { type: "string" },
  by: { type: "string" },
  reason: { type: "string" },
  "went-back": { type: "boolean" },
  "nothing-lost": { type: "boolean" },
} as const;

/** The exit code of `audit verify` where records are missing, and signed statements say why. */
export const STATED_LOSSES = 3;

/** The values of options, as a command has them. */
type Values<Options extends Readonly<Record<string, { type: "string" | "boolean" }>>> = {
  readonly [Name in keyof Options]?: (Options[Name]["type"] extends "string" ? string : boolean) | undefined;
};

/**
 * Milliseconds for a statement or a transaction of a restore. Some are about all rows of a table, such as the
 * end of all sessions, and no process of the service waits for their locks.
 */
export const RESTORE_MS = 3_600_000;

/** Clocks of databases, processes and chains differ by less. */
const CLOCKS_MS = 60_000;

/** Returns a minute before a time in ISO 8601 with its zone. Errors: UsageError. */
export function readSince(usage: string, text: string | undefined): Date {
  const parsed = z.iso.datetime({ offset: true }).safeParse(text);
  if (!parsed.success) throw new UsageError(usage, "a time is needed, such as 2026-11-22T10:00:00Z");
  return new Date(Date.parse(parsed.data) - CLOCKS_MS);
}

const isLine = (text: string | undefined): text is string => text !== undefined && /^[^\p{C}]{1,200}$/u.test(text);

/** The arguments that each service's command `restore` has. */
export const RESTORE_ARGUMENTS = {
  usage: "--since <time> --by <operator> --reason <text> [--went-back | --nothing-lost]",
  options: RESTORE_OPTIONS,
  /** Reads them. Errors: UsageError. */
  read(usage: string, values: Values<typeof RESTORE_OPTIONS>): Restore {
    const [by, reason] = [values.by?.trim(), values.reason?.trim()];
    const { "went-back": wentBack, "nothing-lost": nothingLost } = values;
    // An auditor reads them on a terminal.
    if (!isLine(by) || !isLine(reason) || (wentBack && nothingLost)) throw new UsageError(usage);
    return { since: readSince(usage, values.since), by, reason, wentBack, nothingLost };
  },
};

const EVENTS_OPTIONS = { events: { type: "string" }, "no-events": { type: "boolean" } } as const;

/** The arguments of a restore that reads what the events since have taken away. */
export const EVENTS_ARGUMENTS = {
  usage: "(--events <file of export-events> | --no-events)",
  options: EVENTS_OPTIONS,
  /**
   * Returns the exported events, which are read each time; none where the stream is lost. Errors: UsageError
   * where neither is said; ConfigError where the file is wrong or cut off, before anything is changed.
   */
  read(usage: string, { events: file, "no-events": none = false }: Values<typeof EVENTS_OPTIONS>): Iterable<EventLine> {
    if ((file === undefined) !== none) throw new UsageError(usage);
    if (file === undefined) return [];
    const read = () => jsonLines(file, eventLine);
    for (const _line of read());
    return { [Symbol.iterator]: read };
  },
};

const CHAIN_OPTIONS = { chain: { type: "string" }, accounts: { type: "string" } } as const;

/** The arguments of a restore that reads what the chain shows. */
export const CHAIN_ARGUMENTS = {
  usage: "--chain <file of chain-report> --accounts <file of signer restore>",
  options: CHAIN_OPTIONS,
  /** Returns the lines of the chain, and the accounts that were found there. Errors: UsageError. */
  read(usage: string, { chain, accounts }: Values<typeof CHAIN_OPTIONS>): { lines: ChainLine[]; found: Found[] } {
    if (!chain || !accounts) throw new UsageError(usage);
    return { lines: readJsonLines(chain, chainLine), found: readJsonLines(accounts, foundLine) };
  },
};

/**
 * Runs a service's restore on its database, `<SERVICE>_DATABASE_URL`, while none of its processes runs: see
 * `restoreDatabase`. `wentBack`: it is known to have gone back.
 */
export async function runRestore<Client extends { $disconnect(): Promise<void> }>(
  service: string,
  env: Env,
  restore: Restore,
  PrismaClient: new (options: { adapter: Postgres["adapter"] }) => Client,
  work: (database: { postgres: Postgres; prisma: Client; wentBack: boolean }) => Promise<unknown>,
): Promise<void> {
  const name = `${service.toUpperCase()}_DATABASE_URL`;
  const url = loadEnv(z.object({ [name]: z.string() }), env)[name] as string;
  const timeouts = { statementMs: RESTORE_MS, queryMs: RESTORE_MS, idleInTransactionMs: RESTORE_MS };
  const postgres = openPostgres(url, { connections: 3, timeouts });
  const prisma = new PrismaClient({ adapter: postgres.adapter });
  try {
    await restoreDatabase(postgres, restore, (wentBack) => work({ postgres, prisma, wentBack }));
  } finally {
    await prisma.$disconnect();
    await postgres.close();
  }
}
