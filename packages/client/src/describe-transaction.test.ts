import {
  addUserKeyPayload,
  encodeCadence,
  payloadMessage,
  TemplateError,
  type TransactionPayload,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { describe, expect, it } from "vitest";
import { describeTransaction } from "./describe-transaction.ts";
import { generateDeviceKey } from "./node/device-key.ts";

const account = "01cf0e2f2f715450";
const paymaster = "179b6b1cb6755e31";
const network = { chainName: "flow-emulator", paymaster: `0x${paymaster}` };

const payload = (change: Partial<TransactionPayload> = {}): TransactionPayload => ({
  script: "transaction(amount: UFix64, _ to: Address) { prepare(a: &Account) {} }",
  arguments: [
    encodeCadence({ type: "UFix64", value: "1.00000000" }),
    encodeCadence({ type: "Address", value: `0x${account}` }),
  ],
  referenceBlockId: "ab".repeat(32),
  gasLimit: 100n,
  proposalKey: { address: account, keyId: 1, sequenceNumber: 2n },
  payer: paymaster,
  authorizers: [account],
  ...change,
});

const namesOf = (script: string) => describeTransaction(payload({ script }), network).arguments.map(({ name }) => name);

describe("the description of a transaction", () => {
  it("has script, arguments, accounts, payer and network, and says them in English", () => {
    expect(describeTransaction(payload(), network)).toEqual({
      kind: "transaction",
      template: undefined,
      change: undefined,
      script: payload().script,
      arguments: [
        { name: "amount", type: "UFix64", value: "1.00000000" },
        { name: "to", type: "Address", value: `0x${account}` },
      ],
      chainName: "flow-emulator",
      authorizers: [`0x${account}`],
      proposer: `0x${account}`,
      payer: `0x${paymaster}`,
      paidBy: "paymaster",
      gasLimit: 100n,
      text:
        "Runs a script of the app, which may do anything its text says. " +
        `Account: 0x${account} on flow-emulator. Arguments: amount: "1.00000000"; to: "0x${account}". ` +
        "The service pays the fees.",
    });
  });

  it("is the same of a message that is to be signed", () => {
    const message = bytesToHex(payloadMessage(payload()));
    expect(describeTransaction(message, network)).toEqual(describeTransaction(payload(), network));
    expect(() => describeTransaction("00", network)).toThrow("domain tag");
  });

  it("names a template and its change", () => {
    const newKey = generateDeviceKey();
    const { publicKey, algorithm } = newKey;
    const adds = addUserKeyPayload(
      { publicKey, algorithm },
      { account, referenceBlockId: "ab".repeat(32), proposalKey: payload().proposalKey, payer: paymaster },
    );
    expect(describeTransaction(adds, network)).toMatchObject({
      template: "add-user-key",
      change: { template: "add-user-key", newKey: { publicKey, algorithm } },
      text: expect.stringContaining("Adds a device's key to your account"),
    });
    // The same text with other arguments is no template that anybody may sign.
    expect(() => describeTransaction({ ...adds, arguments: [] }, network)).toThrow();
    expect(describeTransaction({ ...adds, script: `${adds.script} ` }, network).template).toBeUndefined();
  });

  it("says who pays", () => {
    expect(describeTransaction(payload({ payer: account }), network).paidBy).toBe("account");
    const other = describeTransaction(payload({ payer: "aa".repeat(8) }), network);
    expect([other.paidBy, other.text.endsWith(`0x${"aa".repeat(8)} pays.`)]).toEqual(["other", true]);
  });

  it("shows no argument that changes the order in which the rest is shown, or that cannot be seen", () => {
    const note = encodeCadence({ type: "String", value: "\u202ea\u200bb ä\u{e0041}" });
    const { text, arguments: shown } = describeTransaction(payload({ arguments: [note] }), network);
    expect(text).toContain('String: "\\u202ea\\u200bb ä\\udb40\\udc41".');
    expect(shown[0]?.value).toBe("\u202ea\u200bb ä\u{e0041}");
  });

  it("gives no argument the name that a comment, a text or a second declaration claims", () => {
    expect(namesOf("transaction(a: Int, b: Int) {}")).toEqual(["a", "b"]);
    expect(namesOf("// transaction(x: Int, y: Int)\ntransaction(a: {String: Int}, b: [Int]) {}")).toEqual(["a", "b"]);
    expect(namesOf('let t = "transaction(x: Int, y: Int)"\ntransaction(a: Int, b: Int) {}')).toEqual(["a", "b"]);
    expect(namesOf("/* transaction(x: Int, y: Int) */ transaction(a: Int, b: Int) {}")).toEqual(["a", "b"]);
    expect(namesOf("/* /* */ transaction(x: Int, y: Int) */ transaction(a: Int, b: Int) {}")).toEqual(["", ""]);
    // The first quote is the comment's, and the second one in the text is an expression's.
    const real = "transaction(a: Int, b: Int) {}";
    expect(namesOf(`/* /* */ transaction(x: Int, y: Int) " */ ${real} "`)).toEqual(["", ""]);
    expect(namesOf(`#p("\\("a /* ")") ${real} "*/ transaction(x: Int, y: Int)"`)).toEqual(["", ""]);
    expect(namesOf("transaction(x: Int, y: Int) {} transaction(a: Int, b: Int) {}")).toEqual(["", ""]);
    // A pragma, and the declaration right behind a hexadecimal address.
    expect(namesOf(`#transaction(x: "", y: "") import C from 0x0ae53cb6e3f42a79${real}`)).toEqual(["", ""]);
    expect(namesOf(`#p("no \\(a) of \\(b)") ${real} // \\(`)).toEqual(["a", "b"]);
    expect(namesOf(`#p("\\(f("x"))") ${real}`)).toEqual(["", ""]);
    expect(namesOf("transaction(a: Int) {}")).toEqual(["", ""]);
    expect(namesOf("transaction {}")).toEqual(["", ""]);
  });

  it.each([`"\\`, "/*", "//", "transaction(", "transaction ", "transaction({", `transaction("`])(
    "takes time in proportion to a script of %j",
    (part) => {
      const script = part.repeat(Math.floor(200_000 / part.length));
      const started = performance.now();
      expect(namesOf(script)).toEqual(["", ""]);
      // The square of the length takes minutes.
      expect(performance.now() - started).toBeLessThan(5_000);
    },
  );

  it("refuses an argument that is no JSON, or nests too deep to be shown", () => {
    expect(() => describeTransaction(payload({ arguments: ["{"] }), network)).toThrow(TemplateError);
    const deep = `{"type":"Array","value":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    expect(() => describeTransaction(payload({ arguments: [deep] }), network)).toThrow(TemplateError);
  });
});
