import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateKeyPair } from "@countersign/keys/node";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { networksCreate } from "./networks-create.ts";

const chain = "flow-testnet";
const funder = generateKeyPair();
const { publicKey } = funder.publicKey;
const block = { id: "ab".repeat(32), height: "7", timestamp: "2026-11-21T10:00:00Z" };

let directory: string;
let node: Server;
/** Answers to submissions, in their order; undefined: the connection is lost. */
let submissions: (number | undefined)[];
let sequenceNumber: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "countersign-networks-"));
  const versions = [{ version: 1, publicKey }];
  writeFileSync(place("keys"), JSON.stringify({ chains: { [chain]: { creator: versions, paymaster: versions } } }));
  writeFileSync(place("funder"), scalar());
  sequenceNumber = "3";
  node = createServer((request, response) => {
    const url = request.url ?? "";
    const json = (body: object, status = 200) => response.writeHead(status).end(JSON.stringify(body));
    if (url.startsWith("/v1/blocks")) return json([{ header: block }]);
    if (url.includes("/keys/"))
      return json({
        ...{ index: "0", public_key: `0x${publicKey}`, weight: "1000", sequence_number: sequenceNumber },
        ...{ signing_algorithm: "ECDSA_P256", hashing_algorithm: "SHA3_256", revoked: false },
      });
    const status = request.method === "POST" ? submissions.shift() : 404;
    return status === undefined ? request.destroy() : json({ code: status, message: "expired" }, status);
  });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
});
afterEach(() => {
  node.close();
  rmSync(directory, { recursive: true });
});

const place = (name: string) => join(directory, name);
const scalar = () => Buffer.from(funder.privateKey.export({ format: "jwk" }).d!, "base64url").toString("hex");
const signed = () => existsSync(place(`networks.${chain}.transaction`));

function create() {
  const url = `http://127.0.0.1:${(node.address() as AddressInfo).port}`;
  const args = ["--chain", chain, "--network", "testnet", "--access-node", url, "--keys", place("keys")];
  const from = ["--funder", "1234567890abcdef", "--funder-key-file", place("funder")];
  return networksCreate.run({
    args: [...args, ...from],
    env: { CS_NETWORKS_FILE: place("networks") },
    print: () => {},
  });
}

it("names each option that is missing or not valid, and the form that it has", async () => {
  const args = ["--chain", chain, "--network", "testnet", "--funder", "0x1", "--creator-flow", "50"];
  await expect(networksCreate.run({ args, env: {}, print: () => {} })).rejects.toMatchObject({
    reason:
      "--access-node: is missing; --keys: is missing; --funder: must be 16 hex digits, such as " +
      "0x1234567890abcdef; --creator-flow: must be FLOW with decimals, such as 50.0",
  });
});

describe("a transaction that was submitted, with an answer that was lost", () => {
  beforeEach(() => {
    submissions = [undefined, 400];
  });

  it("is kept where the node refuses it later, and its funder's key was used: the accounts may be there", async () => {
    await expect(create()).rejects.toThrow("run this again");
    sequenceNumber = "4";
    await expect(create()).rejects.toThrow("may have created the accounts");
    expect(signed()).toBe(true);
  });

  it("is made again where the node refuses it, and its funder's key was not used", async () => {
    await expect(create()).rejects.toThrow("run this again");
    await expect(create()).rejects.toThrow("the chain refused the transaction");
    expect(signed()).toBe(false);
  });
});
