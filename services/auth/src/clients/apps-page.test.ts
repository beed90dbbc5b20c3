import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readOnce } from "@countersign/runtime";
import { loadPasskeys } from "@countersign/settings";
import { afterAll, expect, it } from "vitest";
import { watchProviders } from "./providers-file.ts";

const page = readFileSync(join(import.meta.dirname, "../../../../docs/apps.md"), "utf8");
const folder = mkdtempSync(join(tmpdir(), "countersign-apps-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The page's JSON blocks, as files. */
const files = [...page.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = ""], at) => {
  const path = join(folder, `${at}.json`);
  writeFileSync(path, text);
  return path;
});

it("auth and the passkeys' settings read the example of docs/apps.md", () => {
  expect(files).toHaveLength(2);
  const [provider] = watchProviders(readOnce, files[0]!).current();
  expect(provider!.clients).toMatchObject([{ appId: "wallet", keyBinding: "required", clientSecret: undefined }]);
  const passkeys = loadPasskeys(files[1]);
  const origins = passkeys.relyingPartiesOf(provider!.clients[0]!.appId).flatMap((party) => party.origins);
  expect(origins).toEqual(["https://wallet.example.com"]);
  expect(passkeys.relyingPartiesOf("another-app")).toEqual([]);
});
