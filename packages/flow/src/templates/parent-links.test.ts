import { describe, expect, it } from "vitest";
import { encodeCadence } from "../codec/cadence-json.ts";
import { type ParentLinkChange, parentLinkArguments, parentLinkScript, readParentLinkChange } from "./parent-links.ts";
import { TemplateError } from "./template-arguments.ts";

const other = "01cf0e2f2f715450";
const NAMES = ["publish-parent-link", "claim-parent-link", "remove-parent-link"] as const;

const written = (change: ParentLinkChange) => ({
  script: parentLinkScript(change.template),
  arguments: parentLinkArguments(change).map(encodeCadence),
});

describe.each(NAMES)("%s", (template) => {
  it("is read as it was written", () => {
    expect(readParentLinkChange(written({ template, other }))).toEqual({ template, other });
  });

  it.each<[string, (args: string[]) => string[]]>([
    ["one argument more", (args) => [...args, ...args]],
    ["none", () => []],
    ["spaces", (args) => args.map((text) => text.replace(":", ": "))],
    ["upper case", (args) => args.map((text) => text.replace("cf", "CF"))],
    ["no prefix", (args) => args.map((text) => text.replace("0x", ""))],
    ["another type", (args) => args.map((text) => text.replace("Address", "String"))],
    ["a shorter address", (args) => args.map((text) => text.replace("0x01", "0x1"))],
  ])("is refused with %s", (_, spoil) => {
    const { script, arguments: args } = written({ template, other });
    expect(() => readParentLinkChange({ script, arguments: spoil(args) })).toThrow(TemplateError);
  });

  it("is another script with a space more", () => {
    const { script, arguments: args } = written({ template, other });
    expect(readParentLinkChange({ script: `${script} `, arguments: args })).toBeUndefined();
  });
});
