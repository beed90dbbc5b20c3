import type { ClientNetwork, CountersignClient, Login } from "@countersign/client";
import {
  cadenceAddress,
  cadenceUFix64,
  createAccessApi,
  encodeCadence,
  type TransactionPayload,
} from "@countersign/flow";
import { TRANSFER } from "../acts/transfer.ts";

/** A phone that an attacker has got hold of, with all that it knows. */
export interface Victim {
  client: CountersignClient;
  network: ClientNetwork;
  /** 16 hex digits. */
  address: string;
  /** The account's key that the phone signs with. */
  keyId: number;
  /** A login of the person, bound to this phone's key. */
  login: () => Promise<Login>;
  /** Has the person log in once more, for another key. */
  logInFor: (nonce: string) => Promise<Login>;
}

/** Returns the account's key that this client's device has. */
export async function keyIdOf(client: CountersignClient, network: ClientNetwork, address: string): Promise<number> {
  const keys = await createAccessApi({ baseUrl: network.accessNode }).accountKeys(address);
  const own = keys.find(({ publicKey, revoked }) => publicKey === client.deviceKey.publicKey && !revoked);
  if (!own) throw new Error("this phone's key is not on the account");
  return own.index;
}

/** Returns an honest payload: 0.1 FLOW to the paymaster; `changes` make it dishonest. */
export async function paymentOf(
  { network, address, keyId }: Victim,
  changes: Partial<TransactionPayload> = {},
): Promise<TransactionPayload> {
  const access = createAccessApi({ baseUrl: network.accessNode });
  const [block, key] = await Promise.all([access.latestSealedBlock(), access.accountKey(address, keyId)]);
  return {
    script: TRANSFER,
    arguments: [cadenceUFix64("0.10000000"), cadenceAddress(plain(network.paymaster))].map(encodeCadence),
    referenceBlockId: block.id,
    gasLimit: 1000n,
    proposalKey: { address, keyId, sequenceNumber: key.sequenceNumber },
    payer: plain(network.paymaster),
    authorizers: [address],
    ...changes,
  };
}

export const plain = (address: string): string => address.replace("0x", "");
