import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { natsAccounts } from "./nats-accounts.ts";

const HEADER =
  "# Written by `npm test -- --project unit packages/events -u` from packages/events/src/nats-accounts.ts.\n";

/** Returns JSON with one line for each import and export. */
function toJson(value: object): string {
  const line = (text: string) => text.replace(/\n\s*/g, " ");
  return JSON.stringify(value, null, 2)
    .replace(/\{[^{}[\]]*\}/g, line)
    .replace(/\{[^[\]{}]*\{[^{}[\]]*\}[^[\]{}]*\}/g, line)
    .replace(/"accounts": \[[^[\]{}]*\]/g, line)
    .replace(/\{[^{}]*"accounts": \[[^{}]*\]\s*\}/g, line);
}

it("deploy/nats/accounts.conf has these accounts", async () => {
  const text = `${HEADER}accounts: ${toJson(natsAccounts())}\n`;
  await expect(text).toMatchFileSnapshot(join(root, "deploy/nats/accounts.conf"));
});
