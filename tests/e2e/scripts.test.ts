import { sendTransaction } from "@countersign/client";
import { type CadenceValue, cadenceAddress, cadenceArray, cadenceString, cadenceUFix64 } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { ensureServiceKey } from "@countersign/local-stack/emulator.ts";
import { ServiceAccount } from "@countersign/local-stack/service-account.ts";
import { beforeAll, describe, expect, it } from "vitest";
import {
  attacks,
  contracts,
  fakeContracts,
  onEmulator,
  ordinary,
} from "../../services/signer/src/policy/script/testing/collection.ts";
import { stateDir } from "../security/secrets.ts";
import { chain, network, type Person, payloadOf, problemOf, signUpPerson } from "../support/person.ts";
import { runAsOwner } from "./chain-owner.ts";

const service = new ServiceAccount(chain.accessNode, ensureServiceKey(stateDir));

const DEPLOY = `transaction(name: String, code: String) {
  prepare(account: auth(AddContract) &Account) { account.contracts.add(name: name, code: code.utf8) }
}`;
const FUND = `import FungibleToken from 0xee82856bf20e2aa6
import FlowToken from 0x0ae53cb6e3f42a79
transaction(to: Address) {
  prepare(account: auth(BorrowValue) &Account) {
    let vault = account.storage.borrow<auth(FungibleToken.Withdraw) &FlowToken.Vault>(from: /storage/flowTokenVault)!
    getAccount(to).capabilities.borrow<&{FungibleToken.Receiver}>(/public/flowTokenReceiver)!
      .deposit(from: <-vault.withdraw(amount: 10.0))
  }
}`;

let person: Person;
/** The person whose account has the contracts that the emulator does not have. */
let contractOwner: Person;
beforeAll(async () => {
  [person, contractOwner] = await Promise.all([signUpPerson(), signUpPerson()]);
  for (const { name, code } of contracts()) await service.run(DEPLOY, [cadenceString(name), cadenceString(code)]);
  for (const { address } of [person, contractOwner]) await service.run(FUND, [cadenceAddress(address)]);
  for (const { name, code } of fakeContracts(contractOwner.address)) {
    const { result } = await runAsOwner(contractOwner, DEPLOY, [cadenceString(name), cadenceString(code)]);
    expect(result.errorMessage, name).toBe("");
  }
}, 180_000);

/** "UFix64 0.01" or "[Address] $ADDRESS" as a value; the person represents any recipient. */
function argumentOf(argument: string): CadenceValue {
  const [, type = "", content = ""] = /^(\S+) (.*)$/s.exec(argument) ?? [];
  const text = content.replace("$ADDRESS", person.address);
  if (type.startsWith("[")) return cadenceArray([argumentOf(`${type.slice(1, -1)} ${content}`)]);
  if (type === "Address") return cadenceAddress(text);
  return type === "UFix64" ? cadenceUFix64(Number(text).toFixed(8)) : { type, value: text };
}

describe("ordinary transactions are co-signed, sponsored and sealed", () => {
  const collection = ordinary();
  it.each(collection.map((each) => [each.file, each.title, each] as const))(
    "%s: %s",
    async (_, __, { script, args }) => {
      const { result } = await sendTransaction(person.client, {
        network,
        cadence: onEmulator(script, contractOwner.address),
        args: args.map(argumentOf),
        // All of them fit into the open fees of an account: none waits until the ones before are settled.
        gasLimit: 3000n,
      });
      expect(result).toMatchObject({ status: "Sealed", errorMessage: "", statusCode: 0 });
    },
  );

  it("are also signed with the addresses of the real networks", async () => {
    for (const { script } of collection) await sign(script);
  });
});

const sign = async (script: string, by = person) => by.client.signTransaction(bytesToHex(await payloadOf(by, script)));

describe("attacks", () => {
  const withKey = (script: string) => script.replaceAll("$KEY", generateKeyPair().publicKey.publicKey);

  it("are refused, each for its reason", async () => {
    const expected = attacks().map(({ title, reason }) => ({ title, reason, status: 403, error: "SigningRefused" }));
    const found = [];
    for (const { title, script } of attacks()) found.push({ title, ...(await problemOf(sign(withKey(script)))) });
    expect(found).toEqual(expected);
  });

  const harmful = attacks().filter(({ harm }) => harm !== undefined);
  it.each(harmful.map((each) => [each.file, each.title, each] as const))(
    "do harm when both keys sign them: %s: %s",
    async (_, __, { script, harm }) => {
      const victim = await signUpPerson();
      const { result } = await runAsOwner(victim, withKey(script));
      expect(result.errorMessage).toBe("");
      expect(result.events.filter(({ type }) => type.endsWith(harm ?? ""))).not.toEqual([]);
    },
  );
});
