import { readFileSync, statSync, writeFileSync } from "node:fs";
import { bytesToHex } from "@countersign/keys";
import { describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { countersign } from "../support/admin.ts";
import { chain, chainName, NOTHING, newPhone, payloadOf, signUpPerson, stack } from "../support/person.ts";
import { json, newSigner, outputFiles } from "./administrator.ts";
import { runAsOwner } from "./chain-owner.ts";

const place = outputFiles();
const { person, accountId } = await newSigner();

describe("the chain", () => {
  it("balances are those of the chain", async () => {
    const balances = await json("ada", "balances", accountId);
    const owners = balances.map(({ owner }: { owner: string }) => owner);
    expect(owners.sort()).toEqual(["account", "creator", "paymaster"]);
    const paymaster = balances.find(({ owner }: { owner: string }) => owner === "paymaster");
    expect(`0x${paymaster.address}`).toBe(chain.paymaster);
    expect(Number(paymaster.flow)).toBeGreaterThan(0);
  });

  it("an account without drift is silent; each difference is named, and nothing is changed", async () => {
    const other = await signUpPerson();
    const { id } = other.signedUp.account;
    expect(await countersign(stack, "ada", "drift", id)).toMatchObject({ code: 0, stdout: "" });
    const before = await query("key", "SELECT * FROM registration WHERE account_id = $1", [id]);
    await query("key", "UPDATE registration SET key_index = 7 WHERE account_id = $1", [id]);
    await query("signer", "UPDATE binding SET server_key_index = 1 WHERE account_id = $1", [id]);
    const { code, stdout } = await countersign(stack, "ada", "drift", id);
    expect(code).toBe(1);
    expect(stdout).toContain("is not on chain: it signs in and can sign no transaction");
    expect(stdout).toContain("key 1 on chain is not listed here");
    expect(stdout).toContain("is not the server key that the signer uses: its signatures fail");
    await query("signer", "UPDATE binding SET server_key_index = 0 WHERE account_id = $1", [id]);
    await query("key", "UPDATE registration SET key_index = 1 WHERE account_id = $1", [id]);
    expect(await query("key", "SELECT * FROM registration WHERE account_id = $1", [id])).toEqual(before);
    expect(await countersign(stack, "ada", "drift", id)).toMatchObject({ code: 0 });
  });

  it("a key that somebody else put on chain is drift until key has read it", async () => {
    const other = await signUpPerson();
    const { id } = other.signedUp.account;
    const key = newPhone().deviceKey.publicKey;
    const script = `transaction { prepare(a: auth(Keys) &Account) { a.keys.add(
      publicKey: PublicKey(publicKey: "${key}".decodeHex(), signatureAlgorithm: SignatureAlgorithm.ECDSA_P256),
      hashAlgorithm: HashAlgorithm.SHA3_256, weight: 500.0) } }`;
    await runAsOwner(other, script, []);
    const { stdout } = await countersign(stack, "ada", "drift", id, "--json");
    expect(stdout).toContain("somebody else added it");
  });

  it("all accounts are compared in pages, with progress", async () => {
    const first = await countersign(stack, "ada", "drift", "--all", "--limit", "2");
    expect(first.stderr).toContain("key: 2 accounts compared");
    const [, after] = /--after (\S+)/.exec(first.stderr)!;
    const second = await countersign(stack, "ada", "drift", "--all", "--limit", "2", "--after", after!);
    expect(second.stderr).toContain("accounts compared");
    expect(await countersign(stack, "ada", "drift", "--all", accountId)).toMatchObject({ code: 2 });
  });
});

describe("the signer", () => {
  it("its policy is shown, and a file is checked and compared", async () => {
    const { stdout } = await countersign(stack, "ada", "policy", "check");
    expect(stdout).toContain("in effect: script-1/default-1");
    expect(stdout).toContain("gasLimitCap: 9999");
    const policy = JSON.parse(readFileSync("deploy/policy.example.json", "utf8"));
    writeFileSync(place("policy.json"), JSON.stringify({ ...policy, caps: { ...policy.caps, gasLimit: 1234 } }));
    const checked = await json("ada", "policy", "check", place("policy.json"));
    expect(checked.changes).toContain("gasLimitCap: 1234 instead of 9999");
    writeFileSync(place("wrong.json"), JSON.stringify({ ...policy, caps: { gasLimit: -1 } }));
    const wrong = await countersign(stack, "ada", "policy", "check", place("wrong.json"));
    expect(wrong).toMatchObject({ code: 1, stdout: expect.stringContaining("NOT A POLICY: caps.gasLimit") });
    writeFileSync(place("wrong.json"), "{");
    expect(await countersign(stack, "ada", "policy", "check", place("wrong.json"))).toMatchObject({ code: 1 });
  });

  it("explains which rule decides about a message", async () => {
    const messageOf = async (script: string) => bytesToHex(await payloadOf(person, script));
    const good = await countersign(stack, "ada", "policy", "explain", await messageOf(NOTHING), "--chain", chainName);
    expect(good).toMatchObject({ code: 0, stdout: expect.stringContaining("no rule refuses it") });
    const bad = await messageOf("transaction { prepare(a: auth(Keys) &Account) {} }");
    expect(await countersign(stack, "ada", "policy", "explain", bad)).toMatchObject({ code: 1 });
  });

  it("its audit log is verified, and exported for an auditor", async () => {
    expect(await countersign(stack, "ada", "audit", "verify")).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/records: \d+, chains: \d+[\s\S]*whole/),
    });
    expect(await countersign(stack, "ada", "audit", "export", "--out", place("export"))).toMatchObject({ code: 0 });
    expect(readFileSync(place("export"), "utf8").trimEnd().split("\n").at(-1)).toBe("end");
    expect(statSync(place("export")).mode & 0o777).toBe(0o600);
  });
});
