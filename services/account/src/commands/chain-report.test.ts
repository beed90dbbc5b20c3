import { describe, expect, it } from "vitest";
import { readKeys } from "./chain-report.ts";

const account = (address: string) => ({ chainName: "flow-testnet", address, accountId: undefined, ours: new Set([1]) });
const key = {
  ...{ index: 1, publicKey: "ab".repeat(64), signatureAlgorithm: "ECDSA_P256", hashAlgorithm: "SHA3_256" },
  ...{ weight: 500, sequenceNumber: 0n, revoked: false },
};

describe("chain-report", () => {
  it("names an account whose keys the node does not list, and reads the others", async () => {
    const chain = {
      latestBlock: async () => ({ id: "cd".repeat(32), height: 7n, time: new Date(0) }),
      accountKeys: async (address: string) => {
        if (address === "02") throw new Error("the answer is too long");
        return [key];
      },
    };
    const printed: string[] = [];
    const accounts = ["01", "02", "03"].map(account);
    const { lines, unread } = await readKeys(new Map([["flow-testnet", chain]]), accounts, (line) =>
      printed.push(line),
    );
    expect(lines).toMatchObject([
      { kind: "keys", address: "01", height: "7", keys: [{ index: 1, algorithm: "ES256", ours: true }] },
      { kind: "keys", address: "03" },
    ]);
    expect(unread).toBe(1);
    expect(printed).toEqual(["unread: account 0x02 on flow-testnet: the answer is too long"]);
  });
});
