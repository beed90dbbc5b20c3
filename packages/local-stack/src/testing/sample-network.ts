import type { Network } from "@countersign/settings";
import { serviceAddress } from "../emulator.ts";

/** Returns an entry of networks.json, where a test depends on the access node only. */
export const sampleNetwork = (accessNode: string): Network => ({
  chainName: "flow-emulator",
  chainType: "flow",
  network: "emulator",
  evmChainId: 646,
  accessNode,
  evmContract: serviceAddress,
  creator: { address: serviceAddress, keyCount: 8 },
  paymaster: { address: serviceAddress, keyId: 0 },
  explorerTransactionUrl: `${accessNode}/{id}`,
});
