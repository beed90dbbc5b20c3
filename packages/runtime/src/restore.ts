import { readFileSync, writeFileSync } from "node:fs";
import { openPostgres, type Postgres, type Restore, restoreDatabase } from "@countersign/postgres";
import { z } from "zod";
import { UsageError } from "./command.ts";
import { ConfigError, type Env, loadEnv } from "./config.ts";

/** The arguments that each service's command `restore` has. */
export const RESTORE_USAGE = "--since <time> --by <operator> --reason <text> [--went-back | --nothing-lost]";
export const RESTORE_OPTIONS = {
  since: { type: "string" },
  by: { type: "string" },
  reason: { type: "string" },
  "went-back": { type: "boolean" },
  "nothing-lost": { type: "boolean" },
} as const;

interface RestoreValues {
  readonly since?: string | undefined;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
  readonly "went-back"?: boolean | undefined;
  readonly "nothing-lost"?: boolean | undefined;
}

/** Clocks of databases, processes and chains differ by less. */
const CLOCKS_MS = 60_000;

/** Returns a minute before a time in ISO 8601 with its zone. Errors: UsageError. */
export function readSince(usage: string, text: string | undefined): Date {
  const parsed = z.iso.datetime({ offset: true }).safeParse(text);
  if (!parsed.success) throw new UsageError(usage, "a time is needed, such as 2026-11-22T10:00:00Z");
  return new Date(Date.parse(parsed.data) - CLOCKS_MS);
}

const isLine = (text: string | undefined): text is string => text !== undefined && /^[^\p{C}]{1,200}$/u.test(text);

/** Reads the arguments that each command `restore` has. Errors: UsageError. */
export function readRestore(usage: string, values: RestoreValues): Restore {
  const [by, reason] = [values.by?.trim(), values.reason?.trim()];
  const { "went-back": wentBack, "nothing-lost": nothingLost } = values;
  // An auditor reads them on a terminal.
  if (!isLine(by) || !isLine(reason) || (wentBack && nothingLost)) throw new UsageError(usage);
  return { since: readSince(usage, values.since), by, reason, wentBack, nothingLost };
}

/**
 * Runs a service's restore on its database, `<SERVICE>_DATABASE_URL`, while none of its processes runs: see
 * `restoreDatabase`.
 */
export async function runRestore(
  service: string,
  env: Env,
  restore: Restore,
  work: (postgres: Postgres, wentBack: boolean) => Promise<unknown>,
): Promise<void> {
  const name = `${service.toUpperCase()}_DATABASE_URL`;
  const url = loadEnv(z.object({ [name]: z.string() }), env)[name] as string;
  const postgres = openPostgres(url, { connections: 3 });
  try {
    await restoreDatabase(postgres, restore, (wentBack) => work(postgres, wentBack));
  } finally {
    await postgres.close();
  }
}

/** Reads a file of one JSON value a line. Errors: ConfigError that names file and line. */
export function readJsonLines<T>(path: string, schema: z.ZodType<T>): T[] {
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.pop() !== "") throw new ConfigError([`${path}: is cut off: its last line has no end`]);
  return lines.map((line, i) => {
    try {
      return schema.parse(JSON.parse(line));
    } catch {
      throw new ConfigError([`${path}: line ${i + 1} is not as expected`]);
    }
  });
}

/** Writes one JSON value a line, for the owner of the process only. */
export const writeJsonLines = (path: string, values: readonly unknown[]): void =>
  writeFileSync(path, values.map((value) => `${JSON.stringify(value)}\n`).join(""), { mode: 0o600 });

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const publicKey = z.object({ algorithm: z.enum(["ES256", "ES256K"]), publicKey: hex(128) });

/** An account that auth knows, with the key that it was signed up with; from `auth restore`. */
export const signedUpLine = z.object({ accountId: z.uuid(), chainName: z.string(), userKey: publicKey });
export type SignedUp = z.output<typeof signedUpLine>;

/** A chain since a moment; from `account chain-report`. */
export const chainLine = z.discriminatedUnion("kind", [
  /** The blocks that were read. */
  z.object({ kind: z.literal("range"), chainName: z.string(), from: z.coerce.bigint(), to: z.coerce.bigint() }),
  /** An account that the creator made. */
  z.object({
    kind: z.literal("created"),
    chainName: z.string(),
    address: hex(16),
    serverKey: hex(128),
    userKey: publicKey,
    transactionId: hex(64),
  }),
  /** All keys of an account that changed; its id where the account service knows it. */
  z.object({
    kind: z.literal("keys"),
    chainName: z.string(),
    address: hex(16),
    accountId: z.uuid().optional(),
    height: z.coerce.bigint(),
    keys: z.array(
      z.object({
        index: z.int(),
        publicKey: hex(128),
        /** Undefined for one that a person's key cannot have. */
        algorithm: z.enum(["ES256", "ES256K"]).optional(),
        weight: z.int(),
        role: z.enum(["server", "user", "recovery", "other"]),
        revoked: z.boolean(),
        /** A transaction of the service added it, in these blocks. */
        ours: z.boolean(),
      }),
    ),
  }),
]);
export type ChainLine = z.output<typeof chainLine>;

/** An account on chain whose id is proven by its server key; from `signer restore`. */
export const foundLine = z.object({
  ...signedUpLine.shape,
  address: hex(16),
  /** Of the creation. */
  transactionId: hex(64),
  serverKeyIndex: z.int(),
  serverKeyVersion: z.int(),
});
export type Found = z.output<typeof foundLine>;

type Keys = Extract<ChainLine, { kind: "keys" }>;

/** Returns the accounts whose keys changed, with the ids that were found. */
export function changedAccounts(
  lines: readonly ChainLine[],
  found: readonly Found[],
): (Keys & { accountId: string })[] {
  const ids = new Map(found.map(({ chainName, address, accountId }) => [`${chainName}/${address}`, accountId]));
  return lines.flatMap((line) => {
    if (line.kind !== "keys") return [];
    const accountId = line.accountId ?? ids.get(`${line.chainName}/${line.address}`);
    return accountId === undefined ? [] : [{ ...line, accountId }];
  });
}

/** An event of the stream; from `export-events`. */
export const eventLine = z.object({ subject: z.string(), event: z.base64() });
