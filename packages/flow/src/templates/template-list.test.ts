import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { encodeCadence } from "../codec/cadence-json.ts";
import { hybridCustodyArguments } from "./hybrid-custody.ts";
import { keyChangeArguments } from "./key-templates.ts";
import { parentLinkArguments } from "./parent-links.ts";
import { readTemplate, type TemplateChange } from "./template-effects.ts";
import { describeTemplates } from "./template-list.ts";

const hybridCustody = {
  contract: "f8d6e0586b0a20c7",
  viewResolver: "0ae53cb6e3f42a79",
  factory: "120e725050340cab",
  filter: "045a1763c93006ca",
};
const newKey = generateKeyPair().publicKey;
const [serverKey, oldKey, newServerKey] = ["aa", "bb", "cc"].map((byte) => byte.repeat(64)) as [string, string, string];
const other = "01cf0e2f2f715450";

/** A change for each template, so that a template without one fails the type check. */
const CHANGES: { [Name in TemplateChange["template"]]: TemplateChange & { template: Name } } = {
  "add-user-key": { template: "add-user-key", newKey },
  "add-recovery-key": { template: "add-recovery-key", serverKey, newKey },
  "replace-recovery-key": { template: "replace-recovery-key", serverKey, oldKey, newKey },
  "revoke-recovery-key": { template: "revoke-recovery-key", serverKey, oldKey },
  "revoke-user-key": { template: "revoke-user-key", oldKey },
  "rotate-server-key": { template: "rotate-server-key", oldKey, newServerKey },
  "publish-parent-link": { template: "publish-parent-link", other },
  "claim-parent-link": { template: "claim-parent-link", other },
  "remove-parent-link": { template: "remove-parent-link", other },
  "set-up-hybrid-custody": { template: "set-up-hybrid-custody", other },
  "redeem-hybrid-custody": { template: "redeem-hybrid-custody", other },
  "remove-hybrid-custody": { template: "remove-hybrid-custody", other },
  "end-hybrid-custody": { template: "end-hybrid-custody" },
} as never;

const argumentsOf = (change: TemplateChange) => {
  if (change.template.endsWith("-hybrid-custody")) return hybridCustodyArguments(change as never, hybridCustody);
  return change.template.endsWith("-parent-link")
    ? parentLinkArguments(change as never)
    : keyChangeArguments(change as never);
};

describe("the templates as data", () => {
  const described = describeTemplates(hybridCustody);

  it("are all of them, in one order", () => {
    expect(described.map(({ name }) => name)).toEqual(Object.keys(CHANGES));
    expect(describeTemplates(undefined)).toEqual(described.slice(0, 9));
  });

  it.each(described)("$name: script and parameters are those that the signer accepts", (template) => {
    const { name, script, parameters } = template;
    const values = argumentsOf(CHANGES[name]);
    expect(parameters.map(({ type }) => type)).toEqual(values.map(({ type }) => type));
    expect(readTemplate({ script, arguments: values.map(encodeCadence) }, hybridCustody)).toEqual(CHANGES[name]);
    expect(template.gasLimit).toBe(9999n);
  });

  it("name each parameter, and its value where the network gives it", () => {
    const named = Object.fromEntries(described.map(({ name, parameters }) => [name, parameters]));
    expect(named["replace-recovery-key"]?.map(({ name }) => name)).toEqual([
      "serverKey",
      "oldKey",
      "newKey",
      "isSecp256k1",
    ]);
    expect(named["set-up-hybrid-custody"]).toEqual([
      { name: "parent", type: "Address", value: "" },
      { name: "factory", type: "Address", value: "0x120e725050340cab" },
      { name: "filter", type: "Address", value: "0x045a1763c93006ca" },
    ]);
    expect(named["end-hybrid-custody"]).toEqual([]);
  });
});
