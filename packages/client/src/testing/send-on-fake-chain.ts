import { setImmediate as nextTick } from "node:timers/promises";
import type { AccessApi, FlowTransaction } from "@countersign/flow";
import { type ClientOptions, CountersignClient } from "../countersign-client.ts";
import { generateDeviceKey } from "../node/device-key.ts";
import { type SendTransactionOptions, sendTransaction } from "../send-transaction.ts";
import { FakeChain } from "./fake-chain.ts";

export const account = "01cf0e2f2f715450";
export const paymaster = "179b6b1cb6755e31";
export const network = { chainName: "flow-emulator", accessNode: "http://node.test", paymaster: `0x${paymaster}` };
export const deviceKey = generateDeviceKey();

/** Returns a client that sends on a fake chain of its own, with what it signed and submitted. */
export function setUp(change: Partial<AccessApi> = {}, options: Partial<ClientOptions> = {}) {
  const chain = new FakeChain([
    { weight: 999, hashAlgorithm: "SHA3_256" },
    { publicKey: deviceKey.publicKey, sequenceNumber: 7n },
  ]);
  let signatures = 0;
  const fetch = async (input: string | URL | Request) => {
    const { pathname } = new URL(String(input));
    if (pathname === "/account/v1/me") {
      return Response.json({
        account: { addresses: [{ chainName: network.chainName, chainType: "cadence", address: `0x${account}` }] },
      });
    }
    signatures++;
    const addr = pathname.endsWith("paymaster") ? paymaster : account;
    return Response.json({ signature: { addr: `0x${addr}`, keyId: 0, signature: "0a".repeat(64) } });
  };
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch, ...options });
  const accessApi = chain.access(change);
  const submitted: string[] = [];
  const send = (options: Partial<SendTransactionOptions> = {}) =>
    sendTransaction(client, {
      network,
      accessApi,
      cadence: "transaction {}",
      onSubmitted: (id) => void submitted.push(id),
      ...options,
    });
  const numbers = () => chain.submitted.map(({ proposalKey }) => proposalKey.sequenceNumber);
  const otherClient = () => new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch });
  return { chain, accessApi, client, otherClient, send, submitted, numbers, signatures: () => signatures };
}

/** As `setUp`; the first transactions that are submitted are overtaken by one of somebody else. */
export function overtake(times: number) {
  let left = times;
  const all = setUp({
    async submit(transaction: FlowTransaction) {
      if (left-- > 0) all.chain.useNumber(transaction.proposalKey.keyId);
      return all.chain.submit(transaction);
    },
  });
  return all;
}

export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTick();
}

export const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
