import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "@countersign/runtime";
import { afterAll, describe, expect, it } from "vitest";
import { loadNetworks } from "./networks.ts";

const dir = mkdtempSync(join(tmpdir(), "networks-"));
afterAll(() => rmSync(dir, { recursive: true }));

const network = {
  chainType: "flow",
  network: "testnet",
  evmChainId: 545,
  accessNode: "https://access.example",
  evmContract: "8c5303eaa26202d6",
  creator: { address: "0000000000000001", keyCount: 10 },
  paymaster: { address: "0000000000000002", keyId: 0 },
  explorerTransactionUrl: "https://explorer.example/{id}",
};

function load(...chainNames: string[]) {
  const path = join(dir, "networks.json");
  writeFileSync(path, JSON.stringify({ networks: chainNames.map((chainName) => ({ ...network, chainName })) }));
  return loadNetworks(path);
}

describe("networks", () => {
  it("have a chain's name each", () => {
    expect([...load("flow-testnet", "flow.2_x").keys()]).toEqual(["flow-testnet", "flow.2_x"]);
    expect(() => load("flow-testnet", "flow-testnet")).toThrow("chainName must be unique");
  });

  it.each(["", "Flow-Testnet", "flow testnet", "flow\ttestnet", "-flow", "f".repeat(65)])(
    "have none that the key service refuses: %j",
    (chainName) => {
      expect(() => load(chainName)).toThrow(ConfigError);
    },
  );
});
