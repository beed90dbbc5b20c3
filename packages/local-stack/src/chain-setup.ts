import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { createAccessApi } from "@countersign/flow";
import type { Network } from "@countersign/settings";
import { serviceAddress } from "./emulator.ts";
import { ensureFclCrypto } from "./fcl-crypto.ts";
import { readNetworks, writeNetworks } from "./networks.ts";
import { readTrimmed } from "./secrets.ts";

const localChain = "flow-emulator";
const funds = "100000.0";

export interface SetUpNetworkOptions {
  accessNode: string;
  publicAccessNode?: string | undefined;
  networksFile: string;
  /** The private key of the emulator's service account, which pays. */
  serviceKeyFile: string;
  /** Names the signer's keystore. */
  env: NodeJS.ProcessEnv;
  /** Default: the local stack's. */
  chainName?: string;
  /** Chain, keystore and networks file are copies from a set-up stack, so the accounts are there. */
  isCopy?: boolean | undefined;
}

/** Runs a command of a service and returns the JSON that it prints; warnings of Node may precede it. */
async function runCommand(service: "signer" | "account", args: string[], env: NodeJS.ProcessEnv): Promise<string> {
  const output = await run(process.execPath, [join(root, `services/${service}/src/cli.ts`), ...args], { env });
  return output.split("\n").find((line) => line.startsWith("{")) ?? "{}";
}

/**
 * Returns the chain's entry with creator and paymaster, created and funded where the chain does not have
 * them, by the commands of docs/key-ceremony.md.
 */
async function ensureAccounts(
  { accessNode, networksFile, serviceKeyFile, env }: SetUpNetworkOptions,
  chainName: string,
  known: Network | undefined,
): Promise<Network> {
  const { creator } = JSON.parse(await runCommand("signer", ["keys", "create", "--chain", chainName], env));
  if (known) {
    const { accountKeys } = createAccessApi({ baseUrl: accessNode });
    const onChain = await accountKeys(known.creator.address).catch(() => []);
    if (onChain.some(({ publicKey }) => publicKey === creator.publicKey)) return known;
  }
  // Its own file: a network that is in the file already is not created again.
  const created = `${networksFile}.${chainName}`;
  const keysFile = `${created}.keys`;
  writeFileSync(keysFile, await runCommand("signer", ["keys", "export-public"], env));
  const network = ["--chain", chainName, "--network", "emulator", "--access-node", accessNode, "--keys", keysFile];
  const funding = ["--creator-flow", funds, "--paymaster-flow", funds];
  const funder = ["--funder", serviceAddress, "--funder-key-file", serviceKeyFile];
  const options = [...network, ...funding, ...funder];
  try {
    await runCommand("account", ["networks", "create", ...options], { ...env, CS_NETWORKS_FILE: created });
    return readNetworks(created)[0]!;
  } finally {
    for (const file of [created, keysFile]) rmSync(file, { force: true });
  }
}

/**
 * Creates and funds the creator and paymaster accounts and deploys FCLCrypto where the chain does not have
 * them, and writes the networks file; other networks in it stay. Needs a running emulator; idempotent: a
 * chain that lost its state gets them again.
 */
export async function setUpNetwork(options: SetUpNetworkOptions): Promise<Network> {
  const { accessNode, publicAccessNode, networksFile, serviceKeyFile, chainName = localChain } = options;
  const networks = readNetworks(networksFile);
  const known = networks.find((network) => network.chainName === chainName);
  const isCopy = options.isCopy && known;
  const entry = isCopy ? known : await ensureAccounts(options, chainName, known);
  if (!isCopy) await ensureFclCrypto(accessNode, readTrimmed(serviceKeyFile));
  const network: Network = {
    ...entry,
    accessNode,
    publicAccessNode: publicAccessNode || undefined,
    // The emulator makes a block for each transaction.
    referenceSeconds: 2,
    explorerTransactionUrl: `${publicAccessNode || accessNode}/v1/transaction_results/{id}`,
  };
  writeNetworks(networksFile, [...networks.filter((each) => each.chainName !== chainName), network]);
  return network;
}
