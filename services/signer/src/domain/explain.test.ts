import { envelopeMessage, payloadMessage } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { DEFAULT_POLICY } from "../policy/policy.ts";
import {
  account,
  byDevice,
  chainName,
  otherAddress,
  policies,
  policy,
  scripts,
  state,
  tx,
} from "../testing/policy-fixture.ts";
import { explain } from "./explain.ts";

const asking = explain({ policies, scripts, chains: new Map([[chainName, policy]]) });
const KEYS = "transaction { prepare(a: auth(Keys) &Account) {} }";

describe("explain", () => {
  it("says what a message is, and leaves no record", async () => {
    expect(await asking(payloadMessage(tx()), chainName)).toEqual({
      kind: "payload",
      refusalReason: "",
      detail: expect.stringContaining(`custom script; transaction; script `),
      reserves: { count: 1, computation: 0, fees: 0 },
    });
    expect(await asking(envelopeMessage(byDevice()), "")).toMatchObject({
      kind: "envelope",
      detail: expect.stringMatching(/paymaster.*payer f3fcd2c1a78f5eee.*policy script-1\/default-1/),
      reserves: { count: 1, computation: 999, fees: 4_006_000 },
    });
    expect(state.records).toEqual([]);
  });

  it.each<[string, Uint8Array, string]>([
    ["a script that asks for keys", payloadMessage(tx({ script: KEYS })), "ForbiddenEntitlement"],
    ["too much gas", payloadMessage(tx({ gasLimit: 10_000n })), "GasLimit"],
    ["two authorizers", payloadMessage(tx({ authorizers: [account.address, otherAddress] })), "MoreThanOneAuthorizer"],
    ["nobody", payloadMessage(tx({ authorizers: [] })), "NotYourAccount"],
    [
      "the paymaster as authorizer",
      payloadMessage(tx({ authorizers: [policy.paymaster.address] })),
      "PaymasterWouldAuthorize",
    ],
    ["no message", Buffer.from("nothing"), "InvalidMessage"],
  ])("names the rule that decides: %s", async (_, message, reason) => {
    expect((await asking(message, "")).refusalReason).toBe(reason);
    expect(state.records).toEqual([]);
  });

  it("sees the switches of the moment", async () => {
    state.policy = { ...DEFAULT_POLICY, switches: { ...DEFAULT_POLICY.switches, transaction: false } };
    expect((await asking(payloadMessage(tx()), "")).refusalReason).toBe("SwitchedOff");
  });
});
