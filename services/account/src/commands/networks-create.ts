import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import {
  type AccessApi,
  AccessApiError,
  createAccessApi,
  type FlowTransaction,
  transactionId,
} from "@countersign/flow";
import { type ChainSigner, withEnvelopeSignature } from "@countersign/flow/node";
import { privateKeyOf, publicKeyOf } from "@countersign/keys/node";
import { command, readJsonFile, readSecretFile, UsageError } from "@countersign/runtime";
import { loadNetworks, type Network } from "@countersign/settings";
import { z } from "zod";
import {
  createdAccounts,
  createOperatorAccounts,
  type OperatorAccounts,
  type OperatorAddresses,
  requireServing,
} from "../chain/operator-accounts.ts";
import { toFlow } from "../domain/admin/list-balances.ts";
import { transactionFromJson, transactionToJson } from "../store/transaction-json.ts";

/** The facts of a network that all its users share. https://developers.flow.com/evm/using */
const FACTS: Record<Network["network"], Pick<Network, "evmChainId" | "evmContract"> & { explorer: string }> = {
  mainnet: { evmChainId: 747, evmContract: "e467b9dd11fa00df", explorer: "https://www.flowscan.io/tx/{id}" },
  testnet: { evmChainId: 545, evmContract: "8c5303eaa26202d6", explorer: "https://testnet.flowscan.io/tx/{id}" },
  emulator: { evmChainId: 646, evmContract: "f8d6e0586b0a20c7", explorer: "" },
};
const COMPUTE_LIMIT = 9_999n;
const SEAL_MS = 120_000;

const versions = z.array(z.object({ version: z.int().positive(), publicKey: z.string().regex(/^[0-9a-f]{128}$/) }));
/** The output of `signer keys export-public`. */
const publicKeys = z.object({
  chains: z.record(z.string(), z.object({ creator: versions.min(1), paymaster: versions.min(1) })),
});

const nodeUrl = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/$/, ""));
/** Returns whether a URL is a server's alone, so that it contains no provider's key. */
const isBare = (url: string): boolean => URL.canParse(url) && new URL(url).origin === url;

const flow = z.string().regex(/^\d+\.\d{1,8}$/, "must be FLOW with decimals, such as 50.0");
const options = z.object({
  chain: z.string().min(1),
  network: z.enum(["mainnet", "testnet", "emulator"]),
  "access-node": nodeUrl,
  "public-access-node": nodeUrl.optional(),
  keys: z.string().min(1),
  funder: z.string().regex(/^(0x)?[0-9a-f]{16}$/, "must be 16 hex digits, such as 0x1234567890abcdef"),
  "funder-key-id": z.coerce.number().int().nonnegative(),
  "funder-key-file": z.string().min(1).optional(),
  "creator-keys": z.coerce.number().int().min(1).max(100),
  "creator-flow": flow,
  "paymaster-flow": flow,
  "dry-run": z.boolean(),
});
const values = options.refine((given) => given["public-access-node"] !== undefined || isBare(given["access-node"]), {
  path: ["public-access-node"],
  message: "the access node's URL may contain a provider's key, and clients get it: name the URL for clients",
});

/**
 * `account networks create`: the chain's part of the key ceremony. In one transaction of the funder it
 * creates and funds the creator and the paymaster with the signer's public keys, checks both on chain, and
 * writes the network to CS_NETWORKS_FILE. Repeated, it continues where it was interrupted, and changes
 * nothing once the network is there. No private key of the service is needed.
 */
export const networksCreate = command({
  usage: `networks create --chain <chain name> --network testnet|mainnet|emulator --access-node <URL>
    [--public-access-node <URL for clients>] --keys <output of signer keys export-public> --funder <address> [--funder-key-id 0] --funder-key-file <file>
    [--creator-keys 8] [--creator-flow 10.0] [--paymaster-flow 100.0] [--dry-run]`,
  about: "Creates and funds creator and paymaster on a chain, and writes the networks file.",
  options: {
    chain: { type: "string" },
    network: { type: "string" },
    "access-node": { type: "string" },
    "public-access-node": { type: "string" },
    keys: { type: "string" },
    funder: { type: "string" },
    "funder-key-id": { type: "string", default: "0" },
    "funder-key-file": { type: "string" },
    "creator-keys": { type: "string", default: "8" },
    "creator-flow": { type: "string", default: "10.0" },
    "paymaster-flow": { type: "string", default: "100.0" },
    "dry-run": { type: "boolean", default: false },
  },
  async run({ values: given, env, print }) {
    const parsed = values.safeParse(given, { error: ({ input }) => (input === undefined ? "is missing" : undefined) });
    const file = env.CS_NETWORKS_FILE;
    if (!parsed.success)
      throw new UsageError(
        this.usage,
        parsed.error.issues.map(({ path, message }) => `--${path}: ${message}`).join("; "),
      );
    if (!file) throw new Error("CS_NETWORKS_FILE is missing: the file to write");
    const options = parsed.data;
    const { chain: chainName, network } = options;

    const keys = readJsonFile(options.keys, publicKeys).chains[chainName];
    if (keys === undefined) throw new Error(`${options.keys} has no keys of ${chainName}: signer keys create first`);
    const [creator, paymaster] = [keys.creator.at(-1)!, keys.paymaster.at(-1)!];
    const wanted: OperatorAccounts = {
      creatorKey: creator.publicKey,
      creatorKeys: options["creator-keys"],
      creatorFlow: options["creator-flow"],
      paymasterKey: paymaster.publicKey,
      paymasterFlow: options["paymaster-flow"],
    };
    const access = createAccessApi({ baseUrl: options["access-node"] });
    const entryOf = (addresses: OperatorAddresses) => ({
      chainName,
      chainType: "flow",
      network,
      evmChainId: FACTS[network].evmChainId,
      accessNode: options["access-node"],
      publicAccessNode: options["public-access-node"],
      evmContract: FACTS[network].evmContract,
      creator: {
        address: addresses.creator,
        keyCount: wanted.creatorKeys,
        ...(creator.version > 1 && { keyVersions: [{ firstKeyId: 0, version: creator.version }] }),
      },
      paymaster: {
        address: addresses.paymaster,
        keyId: 0,
        ...(paymaster.version > 1 && { keyVersion: paymaster.version }),
      },
      explorerTransactionUrl:
        FACTS[network].explorer ||
        `${options["public-access-node"] ?? options["access-node"]}/v1/transaction_results/{id}`,
    });

    const known = existsSync(file) ? loadNetworks(file).get(chainName) : undefined;
    if (known !== undefined) {
      const addresses = { creator: known.creator.address, paymaster: known.paymaster.address };
      await requireServing(access, addresses, { ...wanted, creatorKeys: known.creator.keyCount });
      print(`${chainName} is in ${file}, and its accounts are as they should be`);
      return 0;
    }
    const transaction = createOperatorAccounts(network, wanted);
    if (options["dry-run"]) {
      const balance = toFlow(await access.balance(options.funder.replace(/^0x/, "")));
      const entry = entryOf({ creator: "0".repeat(16), paymaster: "0".repeat(16) });
      print(JSON.stringify({ funder: { address: options.funder, balance }, transaction, entry }, null, 2));
      return 0;
    }
    if (options["funder-key-file"] === undefined) throw new UsageError(this.usage, "--funder-key-file is missing");
    const funder: Funder = {
      address: options.funder.replace(/^0x/, ""),
      keyId: options["funder-key-id"],
      keyFile: options["funder-key-file"],
    };
    const addresses = await createOnce(access, transaction, funder, `${file}.${chainName}.transaction`, print);
    await requireServing(access, addresses, wanted);
    addNetwork(file, entryOf(addresses));
    rmSync(`${file}.${chainName}.transaction`, { force: true });
    print(
      JSON.stringify({ chainName, creator: `0x${addresses.creator}`, paymaster: `0x${addresses.paymaster}`, file }),
    );
    return 0;
  },
});

interface Funder extends Pick<ChainSigner, "address" | "keyId"> {
  /** A P-256 scalar in hex, as `flow keys generate` writes it. */
  keyFile: string;
}

/**
 * Sends the transaction once, also over several runs: it is in a file, signed, before it is submitted.
 * Returns the new accounts. Errors: Error that says what to do.
 */
async function createOnce(
  access: AccessApi,
  content: Pick<FlowTransaction, "script" | "arguments">,
  funder: Funder,
  file: string,
  print: (line: string) => void,
): Promise<OperatorAddresses> {
  const isKnown = existsSync(file);
  const transaction = isKnown
    ? transactionFromJson(JSON.parse(readFileSync(file, "utf8")))
    : await signed(access, content, funder);
  if (!isKnown) writeFileSync(file, JSON.stringify(transactionToJson(transaction)), { flag: "wx" });
  const id = transactionId(transaction);
  print(isKnown ? `continues with transaction ${id} of ${file}` : `transaction ${id}`);
  const { address, keyId, sequenceNumber } = transaction.proposalKey;
  const failed = async (reason: string, isSealed = false) => {
    // A node that lags behind refuses a transaction that others have executed.
    if (!isSealed && (await access.accountKey(address, keyId)).sequenceNumber > sequenceNumber)
      return new Error(`${id} may have created the accounts: remove ${file} only if it did not (${reason})`);
    rmSync(file);
    return new Error(`the chain refused the transaction: ${reason}`);
  };
  try {
    if ((await access.transactionResult(id)) === undefined) await access.submit(transaction);
    const result = await access.waitForSeal(id, { signal: AbortSignal.timeout(SEAL_MS) });
    if (result.status !== "Sealed" || result.errorMessage)
      throw await failed(result.errorMessage || result.status, result.status === "Sealed");
    return createdAccounts(result.events);
  } catch (error) {
    if (error instanceof AccessApiError && error.status === 400) throw await failed(error.message);
    if (error instanceof AccessApiError || (error as Error).name === "TimeoutError")
      throw new Error(`no seal yet (${(error as Error).message}): run this again`, { cause: error });
    throw error;
  }
}

/** Returns the transaction with the funder as proposer, payer and authorizer. Errors: Error. */
async function signed(
  access: AccessApi,
  content: Pick<FlowTransaction, "script" | "arguments">,
  { address, keyId, keyFile }: Funder,
): Promise<FlowTransaction> {
  const privateKey = privateKeyOf(readSecretFile(keyFile).trim());
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, keyId)]);
  if (key.publicKey !== publicKeyOf(privateKey).publicKey)
    throw new Error(`${keyFile} is not the P-256 key ${keyId} of the funder ${address}`);
  const transaction = {
    ...content,
    referenceBlockId: block.id,
    gasLimit: COMPUTE_LIMIT,
    proposalKey: { address, keyId, sequenceNumber: key.sequenceNumber },
    payer: address,
    authorizers: [address],
    payloadSignatures: [],
    envelopeSignatures: [],
  };
  const hash = key.hashAlgorithm === "SHA2_256" ? "sha256" : "sha3-256";
  return withEnvelopeSignature(transaction, { address, keyId, privateKey, hash });
}

/** Adds an entry to the networks file, which is created where it is missing; replaces it atomically. */
function addNetwork(file: string, entry: object): void {
  const networks = existsSync(file) ? [...loadNetworks(file).values()] : [];
  writeFileSync(`${file}.new`, `${JSON.stringify({ networks: [...networks, entry] }, null, 2)}\n`);
  loadNetworks(`${file}.new`);
  renameSync(`${file}.new`, file);
}
