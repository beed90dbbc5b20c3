import type { Network } from "@countersign/settings";

/** Where each network has its token and its fees. https://developers.flow.com/build/cadence/core-contracts */
export const CORE_CONTRACTS: Record<Network["network"], { fungibleToken: string; flowToken: string; fees: string }> = {
  mainnet: { fungibleToken: "f233dcee88fe0abe", flowToken: "1654653399040a61", fees: "f919ee77447b7497" },
  testnet: { fungibleToken: "9a0766d93b6608b7", flowToken: "7e60df042a9c0868", fees: "912d5440f7e3769e" },
  emulator: { fungibleToken: "ee82856bf20e2aa6", flowToken: "0ae53cb6e3f42a79", fees: "e5a8b7f23e8b548f" },
};
