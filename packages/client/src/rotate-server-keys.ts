import { type AccessApi, activeKey, type ChainKey, MAX_COMPUTATION, readKeyChange } from "@countersign/flow";
import { hexToBytes } from "@countersign/keys";
import { accessOf, type ClientNetwork, cadenceAddress, plainAddress } from "./chain-account.ts";
import type { CountersignClient } from "./countersign-client.ts";
import { readMessage } from "./read-message.ts";
import type { ServerKeyRotation, TransactionReference } from "./resources.ts";
import { signMessageWith } from "./user-key.ts";

/** Options of `rotateServerKeys`. */
export interface RotateServerKeysOptions {
  /** The chains that this client knows; rotations on others are left for a client that knows them. */
  networks: readonly ClientNetwork[];
  /** Ends the call; what is submitted stays submitted. */
  signal?: AbortSignal;
  /** Default: the REST API of each network's access node. */
  accessApi?: AccessApi;
}

/**
 * Thrown when the message to sign is not the rotation of this account's server key, and was not signed.
 * @example
 * await rotateServerKeys(client, { networks: [network] }).catch((error) => {
 *   if (error instanceof ServerKeyRotationError) return show("Not a rotation: nothing was signed");
 *   throw error;
 * });
 */
export class ServerKeyRotationError extends Error {
  override readonly name = "ServerKeyRotationError";
}

/**
 * Signs the rotations of the account's server key that the service's operator requested; call it after a
 * sign-in. Each message is read first: it must replace the server key that is now on chain, of this account,
 * paid by the paymaster. Returns the transactions. Errors: ServerKeyRotationError, ProblemError.
 * @example
 * await client.signIn({ login, chainName });
 * const transactions = await rotateServerKeys(client, { networks: [network] });
 */
export async function rotateServerKeys(
  client: CountersignClient,
  { networks, signal, accessApi }: RotateServerKeysOptions,
): Promise<TransactionReference[]> {
  const done: TransactionReference[] = [];
  for (const rotation of await client.serverKeyRotations()) {
    const network = networks.find(({ chainName }) => chainName === rotation.chainName);
    if (!network) continue;
    const access = accessOf({ network, accessApi });
    const address = plainAddress(await cadenceAddress(client, network.chainName));
    check(rotation, address, plainAddress(network.paymaster), await access.accountKeys(address, signal));
    const signed = await signMessageWith(client.deviceKey, hexToBytes(rotation.message));
    done.push((await client.submitServerKeyRotation({ ...rotation, ...signed })).transaction);
  }
  return done;
}

const refuse = (detail: string): never => {
  throw new ServerKeyRotationError(detail);
};

function check({ message }: ServerKeyRotation, address: string, paymaster: string, keys: readonly ChainKey[]): void {
  const { decoded, change } = readMessage(message, readKeyChange, refuse);
  const { kind, authorizers, proposalKey, payer, gasLimit } = decoded;
  const oldKey = kind === "payload" && change?.template === "rotate-server-key" ? change.oldKey : undefined;
  if (oldKey === undefined) refuse("the message is no rotation");
  if (authorizers.length !== 1 || authorizers[0] !== address) refuse("the rotation is another account's");
  if (payer !== paymaster || gasLimit > MAX_COMPUTATION) refuse("the rotation is not paid by the paymaster");
  const server = activeKey(keys, "server");
  const isServers = proposalKey.address === address && proposalKey.keyId === server?.index;
  if (!isServers || oldKey !== server?.publicKey) refuse("the rotation does not replace the server key");
}
