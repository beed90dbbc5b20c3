import { type Files, readJsonFile, type WatchedFile } from "@countersign/runtime";
import { z } from "zod";

const node = z.strictObject({
  /** Base URL of the Access API (REST); it may contain a provider's key. */
  url: z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/$/, "")),
  /** Headers that the gateway adds, such as a provider's key. */
  headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/), z.string().regex(/^[\x20-\x7e]*$/)).default({}),
});

/** A chain node that requests are passed on to. */
export type ChainNode = z.output<typeof node>;

const file = z.record(z.string().regex(/^[\w.-]{1,64}$/), node);

export type ChainNodes = ReadonlyMap<string, ChainNode>;

/**
 * Reads the file that GATEWAY_CHAIN_NODES_FILE names, if it does, and again when it changes: nodes by chain
 * name. Errors: ConfigError.
 */
export const watchChainNodes = (files: Pick<Files, "watch">, path = ""): WatchedFile<ChainNodes> | undefined =>
  path ? files.watch("chain-nodes", (read) => new Map(Object.entries(readJsonFile(path, file, read)))) : undefined;
