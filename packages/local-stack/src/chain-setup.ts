import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import { run } from "@countersign/build/run.ts";
import { cadenceInt, cadenceString, cadenceUFix64 } from "@countersign/flow";
import { ensureServiceKey, serviceAddress } from "./emulator.ts";
import { ServiceAccount } from "./service-account.ts";
import { stateFiles } from "./service-environment.ts";
import type { Ports } from "./settings.ts";

/** One entry of networks.json, as the services read it. Addresses without 0x. */
export interface NetworkEntry {
  chainName: string;
  chainType: "flow";
  network: "emulator";
  evmChainId: number;
  accessNode: string;
  /** The same for clients, where it differs. */
  publicAccessNode?: string;
  evmContract: string;
  creator: { address: string; keyCount: number };
  paymaster: { address: string; keyId: number };
  referenceSeconds: number;
  explorerTransactionUrl: string;
}

interface SignerKeys {
  chainName: string;
  creator: { publicKey: string; hashAlgorithm: string };
  paymaster: { publicKey: string; hashAlgorithm: string };
}

const localChain = "flow-emulator";
/** Proposal keys of the creator: so many creations can be under way at once. */
const creatorKeyCount = 8;
const funds = "100000.00000000";

const createFundedAccount = `import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79

transaction(publicKey: String, keyCount: Int, amount: UFix64) {
  prepare(funder: auth(BorrowValue) &Account) {
    let account = Account(payer: funder)
    let key = PublicKey(publicKey: publicKey.decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256)
    var added = 0
    while added < keyCount {
      account.keys.add(publicKey: key, hashAlgorithm: HashAlgorithm.SHA3_256, weight: 1000.0)
      added = added + 1
    }
    let vault = funder.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)
      ?? panic("the funder has no vault")
    let receiver = account.capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)
      ?? panic("the new account has no receiver")
    receiver.deposit(from: <-vault.withdraw(amount: amount))
  }
}
`;

/**
 * Makes the signer create its creator and paymaster keys (once) and print their public keys: the keys stay
 * with it.
 */
async function signerKeys(chainName: string, env: NodeJS.ProcessEnv): Promise<SignerKeys> {
  const program = join(root, "services/signer/src/cli.ts");
  const output = await run(process.execPath, [program, "keys", "create", "--chain", chainName], { env });
  const line = output.split("\n").find((text) => text.startsWith("{"));
  const keys = line ? (JSON.parse(output.slice(output.indexOf(line))) as SignerKeys) : undefined;
  for (const role of ["creator", "paymaster"] as const) {
    if (keys?.[role].hashAlgorithm !== "SHA3_256" || !/^[0-9a-f]{128}$/.test(keys[role].publicKey)) {
      throw new Failure(`${program} did not print the ${role}'s P-256 key with SHA3_256.`);
    }
  }
  return keys as SignerKeys;
}

function knownNetworks(file: string): NetworkEntry[] {
  if (!existsSync(file)) return [];
  return (JSON.parse(readFileSync(file, "utf8")) as { networks: NetworkEntry[] }).networks;
}

/** Creates and funds what the local stack's chain lacks; see setUpNetwork. */
export function setUpChain(options: {
  stateDir: string;
  ports: Ports;
  env: NodeJS.ProcessEnv;
  isCopy?: boolean | undefined;
}): Promise<NetworkEntry> {
  const { stateDir, ports, env, isCopy } = options;
  return setUpNetwork({
    accessNode: `http://127.0.0.1:${ports.flowRest}`,
    networksFile: stateFiles(stateDir).networks,
    serviceKey: ensureServiceKey(stateDir),
    env,
    isCopy,
  });
}

/** Returns the addresses of creator and paymaster; creates and funds those that the chain does not have. */
async function ensureAccounts(
  { accessNode, serviceKey, env }: { accessNode: string; serviceKey: string; env: NodeJS.ProcessEnv },
  chainName: string,
  known: NetworkEntry | undefined,
): Promise<{ creator: string; paymaster: string }> {
  const keys = await signerKeys(chainName, env);
  const funder = new ServiceAccount(accessNode, serviceKey);
  const ensure = async (address: string | undefined, publicKey: string, keyCount: number): Promise<string> => {
    if (address && (await funder.countKeys(address, publicKey)) >= keyCount) return address;
    const args = [cadenceString(publicKey), cadenceInt(keyCount), cadenceUFix64(funds)];
    const events = await funder.run(createFundedAccount, args);
    const created = events.find((event) => event.type === "flow.AccountCreated")?.fields.address;
    if (typeof created !== "string")
      throw new Failure("the Flow emulator sealed an account creation without its event.");
    return created.replace(/^0x/, "");
  };
  // One after the other: both use the service account's only proposal key.
  const creator = await ensure(known?.creator.address, keys.creator.publicKey, creatorKeyCount);
  const paymaster = await ensure(known?.paymaster.address, keys.paymaster.publicKey, 1);
  return { creator, paymaster };
}

/**
 * Creates and funds the creator and paymaster accounts where the chain does not have them, and writes the
 * networks file; other networks in it stay. Needs a running emulator; idempotent: a chain that lost its state
 * gets them again. `env` names the signer's keystore.
 */
export async function setUpNetwork(options: {
  accessNode: string;
  publicAccessNode?: string | undefined;
  networksFile: string;
  serviceKey: string;
  env: NodeJS.ProcessEnv;
  /** Default: the local stack's. */
  chainName?: string;
  /** Chain, keystore and networks file are copies from a set-up stack, so the accounts are there. */
  isCopy?: boolean | undefined;
}): Promise<NetworkEntry> {
  const { accessNode, publicAccessNode, networksFile: file, chainName = localChain } = options;
  const networks = knownNetworks(file);
  const known = networks.find((network) => network.chainName === chainName);
  const { creator, paymaster } =
    options.isCopy && known
      ? { creator: known.creator.address, paymaster: known.paymaster.address }
      : await ensureAccounts(options, chainName, known);

  const network: NetworkEntry = {
    chainName,
    chainType: "flow",
    network: "emulator",
    evmChainId: 646,
    accessNode,
    ...(publicAccessNode && { publicAccessNode }),
    evmContract: serviceAddress,
    creator: { address: creator, keyCount: creatorKeyCount },
    paymaster: { address: paymaster, keyId: 0 },
    // The emulator makes a block for each transaction.
    referenceSeconds: 2,
    explorerTransactionUrl: `${publicAccessNode || accessNode}/v1/transaction_results/{id}`,
  };
  const others = networks.filter((each) => each.chainName !== chainName);
  writeFileSync(`${file}.new`, `${JSON.stringify({ networks: [...others, network] }, null, 2)}\n`);
  renameSync(`${file}.new`, file);
  return network;
}
