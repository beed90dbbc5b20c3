import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "@countersign/build/run.ts";
import { createAccessApi } from "@countersign/flow";
import { ensureServiceKey, serviceAddress } from "@countersign/local-stack/emulator.ts";
import { loadNetworks } from "@countersign/settings";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chain, stack } from "../support/person.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-ceremony-"));
const place = (name: string) => join(directory, name);
const chainName = "flow-new";
const networksFile = place("networks.json");
const access = createAccessApi({ baseUrl: chain.accessNode });
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** The host of the signer: it has the keystore and reaches no chain. */
const signer = (...args: string[]) =>
  run(process.execPath, ["services/signer/src/cli.ts", ...args], {
    env: {
      PATH: process.env.PATH,
      SIGNER_KEYSTORE_FILE: place("keystore.json"),
      SIGNER_KEYSTORE_PASSPHRASE_FILE: place("passphrase"),
    },
  });

/** The operator's host: it has the public keys, the funder's key, and the chain. */
const account = (...args: string[]) =>
  run(process.execPath, ["services/account/src/cli.ts", "networks", "create", ...args], {
    env: { PATH: process.env.PATH, CS_NETWORKS_FILE: networksFile },
  });

const funder = ["--funder", serviceAddress, "--funder-key-file", place("funder.key")];
const network = ["--chain", chainName, "--network", "emulator", "--access-node", chain.accessNode];
const create = (...args: string[]) => account(...network, "--keys", place("keys.json"), ...funder, ...args);
const balance = (address: string) =>
  access.executeScript("access(all) fun main(address: Address): UFix64 { return getAccount(address).balance }", [
    JSON.stringify({ type: "Address", value: `0x${address}` }),
  ]);

// One after the other: each continues where the one before ended.
describe("the key ceremony", { timeout: 120_000 }, () => {
  beforeAll(() => {
    writeFileSync(place("passphrase"), "correct horse battery staple\n");
    writeFileSync(place("funder.key"), `${ensureServiceKey(stack.stateDir)}\n`);
  });

  it("makes the keys where the signer is, in versions, and exports their public halves", async () => {
    await signer("keys", "create", "--chain", chainName);
    await signer("keys", "rotate", "--role", "paymaster", "--chain", chainName);
    const exported = await signer("keys", "export-public");
    writeFileSync(place("keys.json"), exported);
    const { chains } = JSON.parse(exported);
    expect(chains[chainName].paymaster.map(({ version }: { version: number }) => version)).toEqual([1, 2]);
  });

  it("shows in a dry run what it would do, and does nothing", async () => {
    const { height } = await access.latestSealedBlock();
    const plan = JSON.parse(await create("--dry-run", "--creator-flow", "5.0"));
    expect(plan).toMatchObject({
      funder: { address: serviceAddress, balance: expect.any(String) },
      transaction: { script: expect.stringContaining("Account(payer: funder)"), arguments: expect.any(Array) },
      entry: { chainName, network: "emulator", evmChainId: 646 },
    });
    expect(plan.transaction.arguments[2]).toContain('"5.0"');
    expect((await access.latestSealedBlock()).height).toBe(height);
    expect(existsSync(networksFile)).toBe(false);
  });

  it.each([
    ["a key that the funder does not have", ["--funder-key-id", "1"], /key/],
    ["no such amount", ["--creator-flow", "5"], /--creator-flow/],
    [
      "a URL with a provider's key for clients",
      ["--access-node", `${chain.accessNode}/v1/key`],
      /--public-access-node/,
    ],
    ["more than the funder has", ["--creator-flow", "99999999999.0"], /refused the transaction/],
    ["keys of another chain", ["--chain", "flow-other"], /no keys of flow-other/],
  ])("refuses %s and writes no file", async (_, args, reason) => {
    await expect(create(...args)).rejects.toThrow(reason);
    expect(existsSync(networksFile)).toBe(false);
    expect(existsSync(`${networksFile}.${chainName}.transaction`)).toBe(false);
  });

  it("creates and funds both accounts, and writes the networks file", async () => {
    const output = await create("--creator-keys", "3", "--creator-flow", "5.0", "--paymaster-flow", "7.5");
    const { creator, paymaster } = JSON.parse(output.trim().split("\n").at(-1)!);
    const entry = loadNetworks(networksFile).get(chainName)!;
    expect(entry).toMatchObject({
      creator: { address: creator.slice(2), keyCount: 3 },
      paymaster: { address: paymaster.slice(2), keyId: 0, keyVersion: 2 },
    });
    const { chains } = JSON.parse(readFileSync(place("keys.json"), "utf8"));
    const keysOf = async (address: string) => (await access.accountKeys(address)).map(({ publicKey }) => publicKey);
    expect(await keysOf(entry.creator.address)).toEqual(Array(3).fill(chains[chainName].creator[0].publicKey));
    expect(await keysOf(entry.paymaster.address)).toEqual([chains[chainName].paymaster[1].publicKey]);
    expect(Number(await balance(entry.creator.address))).toBeGreaterThanOrEqual(5);
    expect(Number(await balance(entry.paymaster.address))).toBeGreaterThanOrEqual(7.5);
  });

  it("changes nothing when it is repeated", async () => {
    const before = readFileSync(networksFile, "utf8");
    expect(await create()).toContain("is in");
    expect(readFileSync(networksFile, "utf8")).toBe(before);
  });

  it("continues with the same transaction when it lost the chain after submitting", async () => {
    rmSync(networksFile);
    const sequenceNumber = async () => (await access.accountKey(serviceAddress, 0)).sequenceNumber;
    const before = await sequenceNumber();
    let submitted = false;
    const node = createServer(async (request, response) => {
      if (submitted) return void request.socket.destroy();
      const body: Buffer[] = [];
      for await (const chunk of request) body.push(chunk);
      submitted = request.method === "POST" && request.url!.startsWith("/v1/transactions");
      const options = { method: request.method!, headers: { "content-type": "application/json" } };
      const answer = await fetch(chain.accessNode + request.url, {
        ...options,
        ...(submitted && { body: Buffer.concat(body) }),
      });
      response.writeHead(answer.status).end(await answer.text());
    });
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    const lost = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
    await expect(create("--access-node", lost)).rejects.toThrow(/run this again/);
    node.close();
    expect(submitted).toBe(true);
    expect(existsSync(networksFile)).toBe(false);

    expect(await create()).toContain("continues with transaction");
    expect(loadNetworks(networksFile).get(chainName)?.creator.keyCount).toBe(8);
    expect(await sequenceNumber()).toBe(before + 1n);
    expect(existsSync(`${networksFile}.${chainName}.transaction`)).toBe(false);
  });
});
