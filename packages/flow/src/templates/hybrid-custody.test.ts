import { describe, expect, it } from "vitest";
import { encodeCadence } from "../codec/cadence-json.ts";
import {
  type HybridCustodyChange,
  hybridCustodyArguments,
  hybridCustodyScript,
  readHybridCustodyChange,
} from "./hybrid-custody.ts";
import { TemplateError } from "./template-arguments.ts";

const other = "01cf0e2f2f715450";
const network = {
  contract: "d8a7e05a7ac670c0",
  viewResolver: "1d7e57aa55817448",
  factory: "120e725050340cab",
  filter: "045a1763c93006ca",
};
const elsewhere = { ...network, contract: "294e44e1ec6993c6" };

const written = (change: HybridCustodyChange, on = network) => ({
  script: hybridCustodyScript(change.template, on),
  arguments: hybridCustodyArguments(change, on).map(encodeCadence),
});

const CHANGES: HybridCustodyChange[] = [
  { template: "set-up-hybrid-custody", other },
  { template: "redeem-hybrid-custody", other },
  { template: "remove-hybrid-custody", other },
  { template: "end-hybrid-custody" },
];

describe.each(CHANGES)("$template", (change) => {
  it("is read as it was written", () => {
    expect(readHybridCustodyChange(written(change), network)).toEqual(change);
  });

  it("is another script with a space more, on another network, and where there is no set-up", () => {
    const { script, arguments: args } = written(change);
    expect(readHybridCustodyChange({ script: `${script} `, arguments: args }, network)).toBeUndefined();
    expect(readHybridCustodyChange(written(change), elsewhere)).toBeUndefined();
    expect(readHybridCustodyChange(written(change), undefined)).toBeUndefined();
  });

  it("is refused with an argument more", () => {
    const { script, arguments: args } = written(change);
    const more = [...args, '{"type":"Address","value":"0x01cf0e2f2f715450"}'];
    expect(() => readHybridCustodyChange({ script, arguments: more }, network)).toThrow(TemplateError);
  });
});

describe.each(CHANGES.slice(0, 3))("the arguments of $template", (change) => {
  it.each<[string, (args: string[]) => string[]]>([
    ["none", () => []],
    ["one less", (args) => args.slice(1)],
    ["spaces", (args) => args.map((text) => text.replace(":", ": "))],
    ["upper case", (args) => args.map((text) => text.replace(/"0x(.*)"/, (all) => all.toUpperCase()))],
    ["no prefix", (args) => args.map((text) => text.replace("0x", ""))],
    ["another type", (args) => args.map((text) => text.replace("Address", "String"))],
    ["a shorter address", (args) => args.map((text) => text.replace("0x0", "0x").replace("0x12", "0x2"))],
  ])("are refused with %s", (_, spoil) => {
    const { script, arguments: args } = written(change);
    expect(() => readHybridCustodyChange({ script, arguments: spoil(args) }, network)).toThrow(TemplateError);
  });
});

it("factory and filter are the network's, each in its place", () => {
  const change: HybridCustodyChange = { template: "set-up-hybrid-custody", other };
  const { script } = written(change);
  for (const given of [
    { ...network, factory: other },
    { ...network, filter: other },
    { ...network, factory: network.filter, filter: network.factory },
  ]) {
    expect(() => readHybridCustodyChange({ ...written(change, given), script }, network)).toThrow(TemplateError);
  }
});
