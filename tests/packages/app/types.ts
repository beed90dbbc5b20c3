// An app's code as a browser's compiler checks it: no types of Node.

import * as client from "@countersign/client";
import {
  type Account,
  CountersignClient,
  type Credentials,
  type DeviceKey,
  ProblemError,
  type SentTransaction,
  sendTransaction,
} from "@countersign/client";
import * as flow from "@countersign/flow";
import { cadenceString, type TransactionPayload } from "@countersign/flow";
import * as keys from "@countersign/keys";
import { type KeyAlgorithm, parsePublicKey } from "@countersign/keys";

export const everything = { client, flow, keys };

export function open(deviceKey: DeviceKey, store: (credentials: Credentials | undefined) => void): CountersignClient {
  const algorithm: KeyAlgorithm = parsePublicKey(deviceKey.publicKey, deviceKey.algorithm).algorithm;
  if (algorithm === "EdDSA") throw new Error("not a key of the chain");
  return new CountersignClient({ baseUrl: "https://api.example.com", deviceKey, onCredentials: store });
}

export async function greet(session: CountersignClient): Promise<SentTransaction> {
  const account: Account = await session.me();
  const first: string | undefined = account.addresses[0]?.address;
  // @ts-expect-error: the packages' types are known, and not `any`
  const wrong: number = account.id;
  try {
    return await sendTransaction(session, {
      network: { chainName: "flow-emulator", accessNode: "http://localhost:8888", paymaster: first ?? String(wrong) },
      cadence: "transaction(text: String) { prepare(account: &Account) {} }",
      args: [cadenceString("hello")],
    });
  } catch (error) {
    if (error instanceof ProblemError) throw new Error(`${error.error} ${error.status}`);
    throw error;
  }
}

export const gasOf = (payload: TransactionPayload): bigint => payload.gasLimit;
