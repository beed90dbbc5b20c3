import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { encodeCadence } from "../codec/cadence-json.ts";
import { type KeyChange, keyChangeArguments, keyTemplateScript, readKeyChange } from "./key-templates.ts";
import { TemplateError } from "./template-arguments.ts";

const [server, old, next, curve] = [
  generateKeyPair().publicKey.publicKey,
  generateKeyPair().publicKey.publicKey,
  generateKeyPair().publicKey,
  generateKeyPair("ES256K").publicKey,
];

const CHANGES: KeyChange[] = [
  { template: "add-user-key", newKey: next },
  { template: "add-user-key", newKey: curve },
  { template: "add-recovery-key", serverKey: server, newKey: next },
  { template: "replace-recovery-key", serverKey: server, oldKey: old, newKey: curve },
  { template: "revoke-recovery-key", serverKey: server, oldKey: old },
  { template: "revoke-user-key", oldKey: old },
  { template: "rotate-server-key", oldKey: server, newServerKey: old },
];

const written = (change: KeyChange) => ({
  script: keyTemplateScript(change.template),
  arguments: keyChangeArguments(change).map(encodeCadence),
});

describe.each(CHANGES)("$template", (change) => {
  it("is read as it was written", () => {
    expect(readKeyChange(written(change))).toEqual(change);
  });

  it.each<[string, (args: string[]) => string[]]>([
    ["one argument more", (args) => [...args, '{"type":"Bool","value":true}']],
    ["one less", (args) => args.slice(1)],
    ["none", () => []],
    ["spaces", (args) => args.map((text) => text.replace(":", ": "))],
    ["upper case", (args) => args.map((text) => text.replace(/[0-9a-f]{128}/, (hex) => hex.toUpperCase()))],
    ["another type", (args) => args.map((text) => text.replace("String", "Address"))],
    ["a key that is too short", (args) => args.map((text) => text.replace(/[0-9a-f]{128}/, (hex) => hex.slice(2)))],
    ["a prefix", (args) => args.map((text) => text.replace(/[0-9a-f]{128}/, (hex) => `0x${hex}`))],
  ])("is refused with %s", (_, spoil) => {
    const { script, arguments: args } = written(change);
    expect(() => readKeyChange({ script, arguments: spoil(args) })).toThrow(TemplateError);
  });
});

it("another script is none of ours, however small the difference", () => {
  const { script, arguments: args } = written(CHANGES[0]!);
  expect(readKeyChange({ script: `${script} `, arguments: args })).toBeUndefined();
});
