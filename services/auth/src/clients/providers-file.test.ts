import { describe, expect, it } from "vitest";
import { appIdsIn } from "./providers-file.ts";

const client = {
  clientId: "wallet",
  appId: "demo-wallet",
  appName: "Demo Wällét 2",
  keyBinding: "required",
  redirectUris: ["app://login"],
};
const provider = { name: "example", issuer: "https://id.example.com", clients: [client] };
const appIdsOf = (...providers: object[]) =>
  appIdsIn("providers.json", () => Buffer.from(JSON.stringify({ providers })));
/** Reads a file of one provider that has this client. */
const appIdsWith = (changes: object) => appIdsOf({ ...provider, clients: [{ ...client, ...changes }] });

describe("the file of identity providers", () => {
  it("gives the apps of its clients", () => {
    expect(appIdsWith({})).toEqual(new Set(["demo-wallet"]));
  });

  it.each([
    ["an empty name", { appName: "" }],
    ["a name of 129 characters", { appName: "a".repeat(129) }],
    ["a name with a line break, which a prompt would show", { appName: "Wallet\nApprove now" }],
    ["a name with an escape sign, which a terminal would obey", { appName: "Wallet\u001b[2J" }],
    ["an app's id with a space", { appId: "demo wallet" }],
    ["a default redirect URI that is none of its own", { defaultRedirectUri: "app://other" }],
    ["no redirect URI", { redirectUris: [] }],
    ["a setting that does not exist", { keyBindings: "required" }],
  ])("is refused with %s", (_, changes) => {
    expect(() => appIdsWith(changes)).toThrow(Object.keys(changes)[0]);
  });

  it("is refused with a client or a provider twice: rules of the second one would not count, or could be avoided", () => {
    const bound = { ...client, appId: "other", keyBinding: "optional" };
    expect(() => appIdsOf({ ...provider, clients: [bound, client] })).toThrow("is there twice");
    expect(() => appIdsOf(provider, { ...provider, name: "again", clients: [bound] })).toThrow("is there twice");
    expect(() => appIdsOf(provider, { ...provider, issuer: "https://other.example" })).toThrow("have the same name");
    const other = { ...provider, name: "other", issuer: "https://other.example", clients: [bound] };
    expect(appIdsOf(provider, other)).toEqual(new Set(["demo-wallet", "other"]));
  });
});
