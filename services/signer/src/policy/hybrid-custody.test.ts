import {
  encodeCadence,
  type HybridCustodyChange,
  hybridCustodyArguments,
  hybridCustodyScript,
  MAX_COMPUTATION,
  payloadMessage,
  type TransactionPayload,
} from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { explain } from "../domain/explain.ts";
import {
  account,
  asked,
  chainName,
  otherAddress,
  policies,
  policy,
  refusal,
  scripts,
  server,
  state,
  transaction,
  tx,
  verifies,
} from "../testing/policy-fixture.ts";

const ours = policy.hybridCustody!;
const device = { address: account.address, keyId: 1, sequenceNumber: 0n };

const link = (change: HybridCustodyChange, other: Partial<TransactionPayload> = {}, on = ours): Uint8Array =>
  payloadMessage({
    ...tx(),
    script: hybridCustodyScript(change.template, on),
    arguments: hybridCustodyArguments(change, on).map(encodeCadence),
    gasLimit: MAX_COMPUTATION,
    proposalKey: { ...device, keyId: account.serverKeyIndex },
    ...other,
  });

const CHANGES: HybridCustodyChange[] = [
  { template: "set-up-hybrid-custody", other: otherAddress },
  { template: "redeem-hybrid-custody", other: otherAddress },
  { template: "remove-hybrid-custody", other: otherAddress },
  { template: "end-hybrid-custody" },
];
const setUp = CHANGES[0]!;

describe.each(CHANGES)("$template", (change) => {
  const script = `${hybridCustodyScript(change.template, ours)} `;
  /** The reason for which a custom script of that text is refused. */
  const asCustomScript = change.template === "redeem-hybrid-custody" ? "ForbiddenMember" : "ForbiddenEntitlement";

  it("is signed for a full session, proposed by the server key, and named by explain", async () => {
    const signed = await transaction(asked(link(change)));
    expect(await verifies(server, link(change), signed.signature)).toBe(true);
    const chains = new Map([
      ["another", { ...policy, chainName: "another", hybridCustody: undefined }],
      [chainName, policy],
    ]);
    for (const named of [chainName, ""]) {
      const explained = await explain({ policies, scripts, chains })(link(change), named);
      expect(explained).toMatchObject({
        refusalReason: "",
        detail: expect.stringContaining(`template ${change.template};`),
      });
    }
    const elsewhere = await explain({ policies, scripts, chains })(link(change), "another");
    expect(elsewhere.refusalReason).toBe(asCustomScript);
  });

  it.each<[string, () => Uint8Array, string]>([
    ["a device as proposer", () => link(change, { proposalKey: device }), "ProposerNotYours"],
    ["a text with a byte more", () => link(change, { script }), "ProposerNotYours"],
    ["that text by a device", () => link(change, { script, proposalKey: device }), asCustomScript],
    ["another network's text", () => link(change, {}, { ...ours, contract: otherAddress }), "ProposerNotYours"],
    [
      "an argument more",
      () => link(change, { arguments: Array(4).fill('{"type":"Bool","value":true}') }),
      "BadTemplateArguments",
    ],
    ["another's account", () => link(change, { authorizers: [otherAddress] }), "NotYourAccount"],
  ])("is refused with %s", async (_, message, reason) => {
    expect(await refusal(transaction(asked(message())))).toBe(reason);
  });

  it("is paid by the paymaster, which sees who has signed", async () => {
    expect(await refusal(transaction(asked(link(change, { payer: account.address }))))).toBe("UnknownPayer");
  });

  it("is outside an ephemeral token's and a recovery session's scope", async () => {
    for (const scope of ["sign", "recover"] as const) {
      state.records = [];
      expect(await refusal(transaction(asked(link(change), { scope })))).toBe("OutsideEphemeralScope");
    }
  });
});

it.each(CHANGES.filter((change) => "other" in change))("$template is refused with oneself", async ({ template }) => {
  const self = { template, other: account.address } as HybridCustodyChange;
  expect(await refusal(transaction(asked(link(self))))).toBe("BadTemplateArguments");
});

it.each<[string, (args: string[]) => string[]]>([
  ["another factory", ([parent, , filter]) => [parent!, filter!, filter!]],
  ["another filter", ([parent, factory]) => [parent!, factory!, factory!]],
  ["upper case", (args) => args.map((text) => text.replace(/0x.*"/, (address) => address.toUpperCase()))],
  ["spaces", (args) => args.map((text) => text.replace(":", ": "))],
  [
    "fields in another order",
    (args) => args.map((text) => JSON.stringify({ value: JSON.parse(text).value, type: "Address" })),
  ],
])("set-up is refused with %s", async (_, spoil) => {
  const args = spoil(hybridCustodyArguments(setUp, ours).map(encodeCadence));
  expect(await refusal(transaction(asked(link(setUp, { arguments: args }))))).toBe("BadTemplateArguments");
});
