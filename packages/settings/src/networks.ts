import type { Watched } from "@countersign/core";
import { type Files, type ReadFile, readJsonFile, type WatchedFile } from "@countersign/runtime/config.ts";
import { z } from "zod";

const baseUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/$/, ""));
const cadenceAddress = z.string().regex(/^[0-9a-f]{16}$/, "must be 16 lower-case hex digits");

const plainNetwork = z.strictObject({
  chainName: z
    .string()
    .regex(
      /^[a-z0-9][a-z0-9._-]{0,63}$/,
      "must have 1 to 64 characters: a-z, 0-9, dot, _ and -; the first one a-z or 0-9",
    ),
  chainType: z.literal("flow"),
  network: z.enum(["emulator", "testnet", "mainnet"]),
  evmChainId: z.int().positive(),
  /** Base URL of the Access API (REST). */
  accessNode: baseUrl,
  /** The same for clients, where `accessNode` is internal or contains a key. Default: `accessNode`. */
  publicAccessNode: baseUrl.optional(),
  evmContract: cadenceAddress,
  /**
   * The address of HybridCustody: parents are read from it. Without it, they are read from the links in
   * accounts' inboxes.
   */
  hybridCustody: cadenceAddress.optional(),
  /**
   * Allows accounts to link themselves through HybridCustody. The holders of these accounts, and of
   * HybridCustody's, decide what parents get.
   */
  hybridCustodySetUp: z
    .strictObject({
      /** Publishes the factories at CapabilityFactory.PublicPath. */
      factory: cadenceAddress,
      /** Publishes the filter at CapabilityFilter.PublicPath; it must be one with a list. */
      filter: cadenceAddress,
      /** The address of the contract ViewResolver. */
      viewResolver: cadenceAddress,
    })
    .optional(),
  /** Queried for names and pictures of accounts, in this order. */
  nameServices: z
    .array(z.strictObject({ kind: z.enum(["find", "flow-domain-utils"]), contract: cadenceAddress }))
    .max(4)
    .optional(),
  creator: z.strictObject({
    address: cadenceAddress,
    /** The number of the account's keys, from index 0 on. */
    keyCount: z.int().positive(),
    /** The index of the first key that proposes: those before it were rotated out. Default 0. */
    firstKeyId: z.int().nonnegative().optional(),
    /** The version of the key from each index on, lowest index first. Default: version 1 everywhere. */
    keyVersions: z.array(z.strictObject({ firstKeyId: z.int().nonnegative(), version: z.int().positive() })).optional(),
  }),
  paymaster: z.strictObject({
    address: cadenceAddress,
    keyId: z.int().nonnegative(),
    /** The version of the key at `keyId`. Default 1. */
    keyVersion: z.int().positive().optional(),
  }),
  /** The version that accounts' server keys are rotated to; see docs/vaults.md. Default 1. */
  serverKeyVersion: z.int().positive().optional(),
  /**
   * Seconds for which the signer accepts a reference block, independent of the heights that it is given; see
   * docs/budgets.md. Default 900.
   */
  referenceSeconds: z.int().nonnegative().max(86_400).optional(),
  /** `{id}` is replaced by the transaction's id. */
  explorerTransactionUrl: z.string().includes("{id}"),
});

const network = plainNetwork.refine(
  ({ hybridCustody, hybridCustodySetUp }) => hybridCustody !== undefined || hybridCustodySetUp === undefined,
  { path: ["hybridCustodySetUp"], message: "needs hybridCustody" },
);

export type Network = z.output<typeof network>;

const file = z.strictObject({
  networks: z
    .array(network)
    .min(1)
    .refine((all) => new Set(all.map(({ chainName }) => chainName)).size === all.length, "chainName must be unique"),
});

export type Networks = ReadonlyMap<string, Network>;

/** Returns the networks of the file that CS_NETWORKS_FILE names, by chain name. Errors: ConfigError. */
export function loadNetworks(path: string, read?: ReadFile): Map<string, Network> {
  return new Map(readJsonFile(path, file, read).networks.map((each) => [each.chainName, each]));
}

/** Reads them, and again when the file changes. Errors: ConfigError. */
export const watchNetworks = (files: Pick<Files, "watch">, path: string): WatchedFile<Networks> =>
  files.watch("networks", (read) => loadNetworks(path, read));

/** Returns the names of the networks; the set follows them. */
export function chainNamesOf(networks: Watched<Networks>): ReadonlySet<string> {
  const names = new Set(networks.current().keys());
  networks.onChange((wanted) => {
    for (const name of names) if (!wanted.has(name)) names.delete(name);
    for (const name of wanted.keys()) names.add(name);
  });
  return names;
}
