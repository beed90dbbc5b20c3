import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendTransaction } from "@countersign/client";
import { setUpNetwork } from "@countersign/local-stack/chain-setup.ts";
import type { Child } from "@countersign/local-stack/child.ts";
import { startEmulator } from "@countersign/local-stack/emulator.ts";
import { baseEnvironment, stateFiles } from "@countersign/local-stack/service-environment.ts";
import { choosePorts } from "@countersign/local-stack/settings.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";
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
