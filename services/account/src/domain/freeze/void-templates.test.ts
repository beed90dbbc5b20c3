import { type FlowTransaction, voidPayload } from "@countersign/flow";
import { beforeEach, describe, expect, it } from "vitest";
import type { AccountKey } from "../key-additions/key-addition.ts";
import { type VoidChain, type VoidSigner, voidTemplates } from "./void-templates.ts";

const accountId = "01900000-0000-7000-8000-000000000001";
const [chainName, address, paymaster] = ["flow-emulator", "01cf0e2f2f715450", "f3fcd2c1a78f5eee"];
const referenceBlockId = "ab".repeat(32);
const { signal } = new AbortController();
const composite = (of: string) => ({ address, keyId: 0, signature: of });
const signatures = { payload: composite("aa"), envelope: { ...composite("bb"), address: paymaster } };

let sequenceNumber: bigint;
/** How often all keys of the account were read. */
let listed: number;
/** Numbers for which something was signed. */
let open: bigint[];
let submitted: FlowTransaction[];
let key: Partial<AccountKey>;
let chain: VoidChain;
let signer: VoidSigner;

beforeEach(() => {
  [sequenceNumber, listed, open, submitted, key] = [3n, 0, [3n, 4n, 6n], [], {}];
  const server = () => ({
    ...{ index: 0, publicKey: "", weight: 999, signatureAlgorithm: "ECDSA_P256", hashAlgorithm: "SHA3_256" },
    ...{ sequenceNumber, revoked: false, ...key },
  });
  chain = {
    chainName,
    paymaster,
    latestBlock: async () => ({ id: referenceBlockId, height: 9n }),
    accountKeys: async () => {
      listed += 1;
      return [server()];
    },
    accountKey: async () => server(),
    submit: async (transaction) => {
      submitted.push(transaction);
      if (transaction.proposalKey.sequenceNumber === sequenceNumber) sequenceNumber += 1n;
    },
  };
  signer = { signVoid: async ({ sequenceNumber: wanted }) => (open.includes(wanted) ? signatures : undefined) };
});

const addresses = [
  { chainName, chainType: "cadence", address },
  { chainName, chainType: "evm", address: "0x" },
];
const run = () =>
  voidTemplates({
    accounts: { find: async () => ({ account: { addresses } }) as never },
    chains: new Map([[chainName, chain]]),
    signer,
    pause: async () => undefined,
  })(accountId, signal);

describe("voidTemplates", () => {
  it("uses up each number that something was signed for, in their order, and stops at the first that none was", async () => {
    await run();
    const voids = [3n, 4n].map((number) => ({
      ...voidPayload({
        referenceBlockId,
        proposalKey: { address, keyId: 0, sequenceNumber: number },
        payer: paymaster,
      }),
      payloadSignatures: [signatures.payload],
      envelopeSignatures: [signatures.envelope],
    }));
    expect(submitted).toEqual(voids);
    expect(sequenceNumber).toBe(5n);
  });

  it("does nothing once it is done, and nothing for who has left", async () => {
    await run();
    await run();
    expect(submitted).toHaveLength(2);
    [sequenceNumber, key] = [3n, { revoked: true }];
    await run();
    expect(submitted).toHaveLength(2);
  });

  it("goes on from where the chain stands after a node refused", async () => {
    const { submit } = chain;
    chain = { ...chain, submit: async () => Promise.reject(new Error("away")) };
    await expect(run()).rejects.toThrow("away");
    chain = { ...chain, submit };
    await run();
    expect(sequenceNumber).toBe(5n);
  });

  it("voids on every chain, also where one does not answer, and fails to be asked again", async () => {
    const away = { ...chain, accountKey: async () => Promise.reject(new Error("away")) };
    const find = async () => {
      const both = [{ chainName: "flow-a", chainType: "cadence", address }, ...addresses];
      return { account: { addresses: both } } as never;
    };
    const chains = new Map([
      ["flow-a", away],
      [chainName, chain],
    ]);
    const voiding = voidTemplates({ accounts: { find }, chains, signer, pause: async () => undefined });
    await expect(voiding(accountId, signal)).rejects.toThrow("away");
    expect(sequenceNumber).toBe(5n);
  });

  it("takes a number for used up, by any transaction", async () => {
    chain = {
      ...chain,
      submit: async (transaction) => {
        submitted.push(transaction);
        sequenceNumber = 6n;
      },
    };
    open = [3n];
    await run();
    expect(submitted).toHaveLength(1);
  });

  it("fails, to be asked again, where the chain does not take it", async () => {
    chain = { ...chain, submit: async () => undefined };
    await expect(run()).rejects.toThrow("has not used up");
  });

  it("reads all keys of an account only where its first server key was rotated", async () => {
    await run();
    expect(listed).toBe(0);
    const [first] = await chain.accountKeys(address, signal);
    chain = {
      ...chain,
      accountKeys: async () => [
        { ...first!, revoked: true },
        { ...first!, index: 4, sequenceNumber },
      ],
    };
    chain.accountKey = async (_address, index) => ({ ...first!, index, sequenceNumber, revoked: index === 0 });
    [sequenceNumber, submitted] = [3n, []];
    await run();
    expect(submitted.map(({ proposalKey }) => proposalKey.keyId)).toEqual([4, 4]);
  });
});
