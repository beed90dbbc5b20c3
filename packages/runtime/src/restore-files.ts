import { closeSync, openSync, readSync, renameSync, writeFileSync } from "node:fs";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { z } from "zod";
import { ConfigError } from "./config.ts";

/** A file is read in parts: with a million events it is longer than a string can be. */
const PART_BYTES = 1_048_576;

/** Yields the whole lines of a file. Errors: ConfigError where the last one has no end, and must have. */
export function* linesOf(path: string, mayBeCutOff = false): Generator<string> {
  const file = openSync(path, "r");
  try {
    const decoder = new TextDecoder();
    const part = Buffer.alloc(PART_BYTES);
    let rest = "";
    for (let count = readSync(file, part); count > 0; count = readSync(file, part)) {
      const lines = (rest + decoder.decode(part.subarray(0, count), { stream: true })).split("\n");
      rest = lines.pop()!;
      yield* lines;
    }
    if (!mayBeCutOff && rest + decoder.decode() !== "")
      throw new ConfigError([`${path}: is cut off: its last line has no end`]);
  } finally {
    closeSync(file);
  }
}

/** Yields the values of a file of one JSON value a line. Errors: ConfigError that names file and line. */
export function* jsonLines<T>(path: string, schema: z.ZodType<T>): Generator<T> {
  let count = 0;
  for (const line of linesOf(path)) {
    count += 1;
    let value: T;
    try {
      value = schema.parse(JSON.parse(line));
    } catch {
      throw new ConfigError([`${path}: line ${count} is not as expected`]);
    }
    yield value;
  }
}

/** Reads a file of one JSON value a line. Errors: ConfigError that names file and line. */
export const readJsonLines = <T>(path: string, schema: z.ZodType<T>): T[] => [...jsonLines(path, schema)];

/**
 * Writes one JSON value a line, for the owner of the process only, and returns how many. The file is there
 * once it has all of them.
 */
export async function writeJsonLines(
  path: string,
  values: Iterable<unknown> | AsyncIterable<unknown>,
): Promise<number> {
  const part = `${path}.part`;
  const file = openSync(part, "w", 0o600);
  let count = 0;
  try {
    for await (const value of values) {
      writeFileSync(file, `${JSON.stringify(value)}\n`);
      count += 1;
    }
  } finally {
    closeSync(file);
  }
  renameSync(part, path);
  return count;
}

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
export const eventLine = z.object({
  subject: z.string(),
  event: z.base64().transform((text) => Event.decode(Buffer.from(text, "base64"))),
});
export type EventLine = z.output<typeof eventLine>;
