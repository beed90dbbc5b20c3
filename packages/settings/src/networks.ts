import { readJsonFile } from "@countersign/runtime";
import { z } from "zod";

const cadenceAddress = z.string().regex(/^[0-9a-f]{16}$/, "must be 16 lower-case hex digits");

const plainNetwork = z.strictObject({
  chainName: z.string().min(1),
  chainType: z.literal("flow"),
  network: z.enum(["emulator", "testnet", "mainnet"]),
  evmChainId: z.int().positive(),
  /** Base URL of the Access API (REST). */
  accessNode: z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/$/, "")),
  /** The same for clients, where `accessNode` is internal or contains a key. Default: `accessNode`. */
  publicAccessNode: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/$/, ""))
    .optional(),
  evmContract: cadenceAddress,
  /** Where HybridCustody stands: parents are read from it. Without it, from the links that accounts offer by their inboxes. */
  hybridCustody: cadenceAddress.optional(),
  /** With it accounts may link themselves through HybridCustody. Who holds these accounts, and HybridCustody's, decides what parents get. */
  hybridCustodySetUp: z
    .strictObject({
      /** Shows the factories at CapabilityFactory.PublicPath. */
      factory: cadenceAddress,
      /** Shows the filter at CapabilityFilter.PublicPath: one with a list. */
      filter: cadenceAddress,
      /** Where the contract ViewResolver stands. */
      viewResolver: cadenceAddress,
    })
    .optional(),
  /** Asked for names and pictures of accounts, in this order. */
  nameServices: z
    .array(z.strictObject({ kind: z.enum(["find", "flow-domain-utils"]), contract: cadenceAddress }))
    .max(4)
    .optional(),
  creator: z.strictObject({
    address: cadenceAddress,
    /** Keys of the account, from index 0 on. */
    keyCount: z.int().positive(),
    /** The first key that proposes: those before were rotated out. Default 0. */
    firstKeyId: z.int().nonnegative().optional(),
    /** From which index on which version of the key stands, the lowest index first. Default: version 1 everywhere. */
    keyVersions: z.array(z.strictObject({ firstKeyId: z.int().nonnegative(), version: z.int().positive() })).optional(),
  }),
  paymaster: z.strictObject({
    address: cadenceAddress,
    keyId: z.int().nonnegative(),
    /** The version of the key that stands there. Default 1. */
    keyVersion: z.int().positive().optional(),
  }),
  /** The version of their server keys that accounts are brought to; see docs/vaults.md. Default 1. */
  serverKeyVersion: z.int().positive().optional(),
  /** Seconds for which the signer takes a reference block to be good, whatever heights it is told; see docs/budgets.md. Default 900. */
  referenceSeconds: z.int().nonnegative().max(86_400).optional(),
  /** `{id}` stands for the transaction's id. */
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

/** The networks of the file that CS_NETWORKS_FILE names, by chain name. Errors: ConfigError. */
export function loadNetworks(path: string): Map<string, Network> {
  return new Map(readJsonFile(path, file).networks.map((each) => [each.chainName, each]));
}
