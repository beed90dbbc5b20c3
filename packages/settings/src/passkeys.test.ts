import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigError } from "@countersign/runtime";
import { afterAll, describe, expect, it } from "vitest";
import { loadPasskeys } from "./passkeys.ts";

const dir = mkdtempSync(join(tmpdir(), "passkeys-"));
afterAll(() => rmSync(dir, { recursive: true }));

function load(relyingParties: unknown) {
  const path = join(dir, "passkeys.json");
  writeFileSync(path, JSON.stringify({ relyingParties }));
  return loadPasskeys(path);
}

describe("relying parties", () => {
  it("are an app's own and everybody's", () => {
    const shared = { rpId: "example.com", origins: ["https://wallet.example.com"] };
    const own = { rpId: "game.example", origins: [`android:apk-key-hash:${"a".repeat(43)}`], appIds: ["game"] };
    const { relyingPartiesOf } = load([shared, own]);
    expect(relyingPartiesOf("game").map(({ rpId }) => rpId)).toEqual(["example.com", "game.example"]);
    expect(relyingPartiesOf("wallet").map(({ rpId }) => rpId)).toEqual(["example.com"]);
  });

  it("may be used in the web view of an app, by exactly these origins", () => {
    const origins = ["capacitor://localhost", "ionic://localhost", "tauri://localhost", "https://tauri.localhost"];
    const [party] = load([{ rpId: "example.com", origins }]).relyingPartiesOf("game");
    expect(party?.origins).toEqual(origins);
    for (const origin of ["null", "capacitor://*", "capacitor://localhost/", "capacitor://example.com", "file://"]) {
      expect(() => load([{ rpId: "example.com", origins: [origin] }])).toThrow(ConfigError);
    }
  });

  it("are none without a file", () => {
    expect(loadPasskeys(undefined).relyingPartiesOf("game")).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["an address as id", { rpId: "127.0.0.1", origins: ["http://localhost:1"] }],
    ["an origin elsewhere", { rpId: "example.com", origins: ["https://example.org"] }],
    ["plain http", { rpId: "example.com", origins: ["http://example.com"] }],
    ["no origin", { rpId: "example.com", origins: [] }],
    ["no app", { rpId: "example.com", origins: ["https://example.com"], appIds: [] }],
    ["an unknown setting", { rpId: "example.com", origins: ["https://example.com"], userVerification: "preferred" }],
  ])("are refused with %s", (_, party) => {
    expect(() => load([party])).toThrow(ConfigError);
  });
});
