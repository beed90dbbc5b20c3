import {
  type AccessApi,
  type ChainKey,
  createAccessApi,
  type DecodedMessage,
  decodeMessage,
  InvalidMessageError,
  KEY_ROLES,
  MAX_COMPUTATION,
  readKeyChange,
  TemplateError,
} from "@countersign/flow";
import { hexToBytes, isHex } from "@countersign/keys";
import type { CountersignClient } from "./countersign-client.ts";
import type { ServerKeyRotation, TransactionReference } from "./resources.ts";
import { type ClientNetwork, cadenceAddress } from "./send-transaction.ts";
import { signMessageWith } from "./user-key.ts";

export interface RotateServerKeysOptions {
  /** The chains that this client knows; rotations on others are left for a client that knows them. */
  networks: readonly ClientNetwork[];
  signal?: AbortSignal;
  accessApi?: AccessApi;
}

/** Thrown when the message to sign is not the rotation of this account's server key, and was not signed. */
export class ServerKeyRotationError extends Error {
  override readonly name = "ServerKeyRotationError";
}

/**
 * Signs the rotations of the account's server key that the service's operator requested; call it after a
 * sign-in. Each message is read first: it must replace the server key that is now on chain, of this account,
 * paid by the paymaster. Returns the transactions. Errors: ServerKeyRotationError, ProblemError.
 */
export async function rotateServerKeys(
  client: CountersignClient,
  { networks, signal, accessApi }: RotateServerKeysOptions,
): Promise<TransactionReference[]> {
  const done: TransactionReference[] = [];
  for (const rotation of await client.serverKeyRotations()) {
    const network = networks.find(({ chainName }) => chainName === rotation.chainName);
    if (!network) continue;
    const access = accessApi ?? createAccessApi({ baseUrl: network.accessNode });
    const address = plain(await cadenceAddress(client, network.chainName));
    check(rotation, address, plain(network.paymaster), await access.accountKeys(address, signal));
    const signed = await signMessageWith(client.deviceKey, hexToBytes(rotation.message));
    done.push((await client.submitServerKeyRotation({ ...rotation, ...signed })).transaction);
  }
  return done;
}

const plain = (address: string): string => address.replace(/^0x/i, "").toLowerCase();
const refuse = (detail: string): never => {
  throw new ServerKeyRotationError(detail);
};

function check({ message }: ServerKeyRotation, address: string, paymaster: string, keys: readonly ChainKey[]): void {
  const decoded = decode(message);
  const { kind, authorizers, proposalKey, payer, gasLimit } = decoded;
  const change = changeOf(decoded);
  const oldKey = kind === "payload" && change?.template === "rotate-server-key" ? change.oldKey : undefined;
  if (oldKey === undefined) refuse("the message is no rotation");
  if (authorizers.length !== 1 || authorizers[0] !== address) refuse("the rotation is another account's");
  if (payer !== paymaster || gasLimit > MAX_COMPUTATION) refuse("the rotation is not paid by the paymaster");
  const { weight } = KEY_ROLES.server;
  const server = keys.find((key) => !key.revoked && key.weight === weight && key.hashAlgorithm === "SHA3_256");
  const isServers = proposalKey.address === address && proposalKey.keyId === server?.index;
  if (!isServers || oldKey !== server?.publicKey) refuse("the rotation does not replace the server key");
}

function changeOf(decoded: DecodedMessage) {
  try {
    return readKeyChange(decoded);
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    return refuse(error.message);
  }
}

function decode(message: string): DecodedMessage {
  if (message === "" || !isHex(message)) return refuse("the message is not hex");
  try {
    return decodeMessage(hexToBytes(message));
  } catch (error) {
    if (!(error instanceof InvalidMessageError)) throw error;
    return refuse(`the message is no transaction: ${error.message}`);
  }
}
