import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { expect, it } from "vitest";
import { natsAccountsFile } from "./nats-accounts.ts";

it("deploy/nats/accounts.conf has these accounts", async () => {
  const source = "`npm test -- --project unit packages/events -u` from packages/events/src/nats-accounts.ts";
  await expect(natsAccountsFile(source)).toMatchFileSnapshot(join(root, "deploy/nats/accounts.conf"));
});
