import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
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
  await owner.client.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: client.matchingCode() });
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
  await other.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: client.matchingCode() });
  // The login alone is enough for this far: the answer must have no session.
  await expect(client.waitForTwoFactor(asked)).rejects.toMatchObject({ error: "TwoFactorAuthFinished" });
  const signIn = { login: await newLogin(), chainName: second };
  const { account } = await persist(owner, "sign in", () => client.waitForTwoFactor(asked, { signIn }));
  expect(account.id).toBe(asked.twoFactorAuth.accountId);
});

/** A node that answers neither the keys of one account nor the events of more than three blocks at once. */
async function nodeWithout(address: string, accessNode: string): Promise<Server> {
  const server = createServer(async ({ url = "", method }, response) => {
    const asked = new URL(url, accessNode);
    const [start, end] = ["start_height", "end_height"].map((name) => Number(asked.searchParams.get(name)));
    if (method !== "GET" || end! - start! > 2 || url.startsWith(`/v1/accounts/${address}?`))
      return response.writeHead(400).end();
    const answer = await fetch(asked);
    return response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

it("the chain report of a restore names accounts that it does not read, without keys", {
  timeout: 240_000,
}, async () => {
  const owner = createPerson(stack.stack);
  const since = new Date().toISOString();
  await signUp(owner, { idempotent: true });
  const login = await logIn(stack.stack, owner.email);
  await persist(owner, "second network", () => owner.client.signUp({ login, chainName: second }));
  const { id: accountId, addresses } = await persist(owner, "me", () => owner.client.me());
  const { address } = addresses.find(({ chainName, chainType }) => chainName === second && chainType === "cadence")!;
  const bare = address.replace(/^0x/, "");
  const node = await nodeWithout(bare, networks[second]!.accessNode);
  const { port } = node.address() as AddressInfo;

  const env = await stack.environmentOf("account");
  const { networks: all } = JSON.parse(readFileSync(env.CS_NETWORKS_FILE!, "utf8"));
  const of = (name: string) => all.find(({ chainName }: { chainName: string }) => chainName === name);
  const configured = join(dir, "networks.json");
  const out = join(dir, "chain.jsonl");
  /** Returns the numbers of keys that the account has in the report. */
  const report = async (read: object[], without: string[] = []) => {
    writeFileSync(configured, JSON.stringify({ networks: read }));
    const args = ["services/account/src/cli.ts", "chain-report", "--since", since, "--out", out, ...without];
    await run(process.execPath, args, { env: { ...env, CS_NETWORKS_FILE: configured } });
    const lines = readJsonLines(out, chainLine).filter((line) => line.kind === "keys");
    const ofAccount = lines.filter((line) => line.accountId === accountId);
    return Object.fromEntries(ofAccount.map(({ chainName, keys }) => [chainName, keys.length]));
  };

  const unread = { [first]: 2, [second]: 0 };
  expect(await report([of(first)])).toEqual(unread);
  expect(await report([of(first), of(second)])).toEqual({ [first]: 2, [second]: 2 });
  const silent = [of(first), { ...of(second), accessNode: `http://127.0.0.1:${port}` }];
  await expect(report(silent)).rejects.toThrow(`keys were not read, see --without: ${second}/${bare}`);
  expect(await report(silent, ["--without", `${second}/${bare}`])).toEqual(unread);
  node.close();
});
