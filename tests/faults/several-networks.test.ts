import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "@countersign/build/run.ts";
import { sendTransaction } from "@countersign/client";
import { generateKeyPair } from "@countersign/keys/node";
import { setUpNetwork } from "@countersign/local-stack/chain-setup.ts";
import type { Child } from "@countersign/local-stack/child.ts";
import { startEmulator } from "@countersign/local-stack/emulator.ts";
import { baseEnvironment, stateFiles } from "@countersign/local-stack/service-environment.ts";
import { choosePorts } from "@countersign/local-stack/settings.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";
import { chainLine, readJsonLines } from "@countersign/runtime";
import { createPhone, logIn } from "@countersign/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FaultStack, startFaultStack } from "./fault-stack.ts";
import { createPerson, persist, signUp } from "./person.ts";

/** A second emulator: a network of its own, where the same addresses are given out in the same order. */
const first = "flow-emulator";
const second = "flow-emulator-2";
const SCRIPT = "transaction { prepare(account: &Account) {} }";

let stack: FaultStack;
let emulator: Child | undefined;
let dir = "";
const networks: Record<string, { chainName: string; accessNode: string; paymaster: string }> = {};

beforeAll(async () => {
  stack = await startFaultStack();
  dir = mkdtempSync(join(tmpdir(), "countersign-second-chain-"));
  const [ports] = await choosePorts({ free: true });
  const { flowEmulator } = await ensureTools(() => undefined);
  emulator = await startEmulator({ binary: flowEmulator, stateDir: dir, ports, logFile: join(dir, "emulator.log") });
  const files = stateFiles(stack.stack.stateDir);
  const { accessNode, paymaster } = await setUpNetwork({
    chainName: second,
    accessNode: `http://127.0.0.1:${ports.flowRest}`,
    networksFile: files.networks,
    serviceKeyFile: stateFiles(dir).flowServiceKey,
    env: {
      ...baseEnvironment(),
      SIGNER_KEYSTORE_FILE: files.keystore,
      SIGNER_KEYSTORE_PASSPHRASE_FILE: files.keystorePassphrase,
    },
  });
  networks[first] = stack.stack.chains[0]!;
  networks[second] = { chainName: second, accessNode, paymaster: `0x${paymaster.address}` };
  for (const program of ["signer", "account", "auth"]) {
    for (const name of [program, `${program}-2`]) await stack.bounce(name);
    await stack.allUp();
  }
}, 240_000);

afterAll(async () => {
  await emulator?.stop();
  await stack?.stop();
  if (dir) rmSync(dir, { recursive: true, force: true });
}, 60_000);

it("an identity has one account, with addresses on every network that it asked for", { timeout: 240_000 }, async () => {
  const person = createPerson(stack.stack);
  const { client, deviceKey } = person;
  await signUp(person, { idempotent: true });
  const onFirst = await persist(person, "me", () => client.me());
  expect(new Set(onFirst.addresses.map(({ chainName }) => chainName))).toEqual(new Set([first]));

  const { client: withoutAccount } = createPhone(stack.stack, { deviceKey });
  const login = await logIn(stack.stack, person.email);
  const withoutSession = persist(person, "sign up", () => withoutAccount.signUp({ login, chainName: second }));
  await expect(withoutSession).rejects.toMatchObject({ status: 409, error: "AccountExists" });
  const unknown = persist(person, "sign up", () => client.signUp({ login, chainName: "flow-nowhere" }));
  await expect(unknown).rejects.toMatchObject({ status: 400, error: "UnknownChain" });

  const further = await persist(person, "sign up", () => client.signUp({ login, chainName: second }));
  expect(further.account.id).toBe(onFirst.id);
  const account = await persist(person, "me", () => client.me());
  const kinds = account.addresses.map(({ chainName, chainType }) => `${chainName} ${chainType}`);
  expect(kinds.sort()).toEqual([`${first} cadence`, `${first} evm`, `${second} cadence`, `${second} evm`].sort());

  const keyOn = async (chainName: string) =>
    (await client.keys()).filter((key) => key.chainName === chainName && key.publicKey === deviceKey.publicKey).length;
  for (const chainName of [first, second]) {
    await expect.poll(() => keyOn(chainName), { timeout: 30_000 }).toBe(1);
    const send = () => sendTransaction(client, { network: networks[chainName]!, cadence: SCRIPT });
    const { result } = await persist(person, `transaction on ${chainName}`, send);
    expect(result).toMatchObject({ status: "Sealed", errorMessage: "" });
    const again = async () => client.signIn({ login: await logIn(stack.stack, person.email), chainName });
    const signedIn = await persist(person, `sign in on ${chainName}`, again);
    expect(signedIn).toMatchObject({ account: { id: onFirst.id }, transaction: { chainName } });
  }
});

/** Two devices of one account: one has a key on the first network, the other on both. */
async function twoDevices() {
  const owner = createPerson(stack.stack);
  await signUp(owner, { idempotent: true });
  const newLogin = () => logIn(stack.stack, owner.email);
  const { client } = createPhone(stack.stack);
  const asked = await client.requestTwoFactor({ login: await newLogin(), chainName: first });
  await owner.client.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: await client.matchingCode(asked) });
  await client.waitForTwoFactor(asked);
  await persist(owner, "second network", async () => client.signUp({ login: await newLogin(), chainName: second }));
  const networks = async () => new Set((await client.me()).addresses.map(({ chainName }) => chainName)).size;
  await expect.poll(networks, { timeout: 30_000 }).toBe(2);
  return { owner, newLogin, other: client };
}

it("a new device does not get a key of another device, which nobody has shown to be its own", {
  timeout: 120_000,
}, async () => {
  const { owner, newLogin } = await twoDevices();
  const claimed = owner.deviceKey.publicKey;
  const { publicKey } = generateKeyPair().publicKey;
  // With the identity it would have the other's name and age; its removal would block the account key.
  for (const [accountKey, deviceKey] of [
    [publicKey, claimed],
    [claimed, publicKey],
  ]) {
    const device = { publicKey: deviceKey, algorithm: "ES256", name: "New phone" };
    const userKey = { type: "device", publicKey: accountKey, algorithm: "ES256", device };
    const answer = await fetch(`${stack.stack.gateway}/auth/v1/signin/2fa`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ request: { ...(await newLogin()), chainName: second }, userKey }),
    });
    expect(await answer.json()).toMatchObject({ status: 409, error: "KeyAlreadyRegistered" });
  }
});

it("a device joins a further network with its own key, and only its key opens the session", {
  timeout: 120_000,
}, async () => {
  const { owner, newLogin, other } = await twoDevices();
  const { client } = createPhone(stack.stack, { deviceKey: owner.deviceKey });
  const asked = await client.requestTwoFactor({ login: await newLogin(), chainName: second });
  await other.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: await client.matchingCode(asked) });
  // The login alone is enough for this far: the answer must have no session.
  await expect(client.waitForTwoFactor(asked)).rejects.toMatchObject({ error: "TwoFactorAuthFinished" });
  const signIn = { login: await newLogin(), chainName: second };
  const { account } = await persist(owner, "sign in", () => client.waitForTwoFactor(asked, { signIn }));
  expect(account.id).toBe(asked.twoFactorAuth.accountId);
});

it("a network that is no longer configured is in the chain report of a restore, without keys", async () => {
  const owner = createPerson(stack.stack);
  const since = new Date().toISOString();
  await signUp(owner, { idempotent: true });
  const login = await logIn(stack.stack, owner.email);
  await persist(owner, "second network", () => owner.client.signUp({ login, chainName: second }));
  const { id: accountId } = await persist(owner, "me", () => owner.client.me());

  const env = await stack.environmentOf("account");
  const { networks: all } = JSON.parse(readFileSync(env.CS_NETWORKS_FILE!, "utf8"));
  const onlyFirst = join(dir, "only-first.json");
  const configured = all.filter(({ chainName }: { chainName: string }) => chainName === first);
  writeFileSync(onlyFirst, JSON.stringify({ networks: configured }));
  const out = join(dir, "chain.jsonl");
  const args = ["services/account/src/cli.ts", "chain-report", "--since", since, "--out", out];
  await run(process.execPath, args, { env: { ...env, CS_NETWORKS_FILE: onlyFirst } });
  const keysOn = (chainName: string) =>
    readJsonLines(out, chainLine).flatMap((line) =>
      line.kind === "keys" && line.accountId === accountId && line.chainName === chainName ? [line.keys.length] : [],
    );
  expect([keysOn(first), keysOn(second)]).toEqual([[2], [0]]);
});
