import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { matchingCode, type TwoFactorRequested } from "@countersign/client";
import { generateKeyPair } from "@countersign/keys/node";
import { setUpNetwork } from "@countersign/local-stack/chain-setup.ts";
import type { Child } from "@countersign/local-stack/child.ts";
import { startEmulator } from "@countersign/local-stack/emulator.ts";
import { baseEnvironment, stateFiles } from "@countersign/local-stack/service-environment.ts";
import { choosePorts } from "@countersign/local-stack/settings.ts";
import { ensureTools } from "@countersign/local-stack/tools.ts";
import { createPhone, logIn, type Phone } from "@countersign/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type FaultStack, startFaultStack } from "./fault-stack.ts";
import { createPerson, persist, signUp } from "./person.ts";

const first = "flow-emulator";
const second = "flow-emulator-2";
let stack: FaultStack;
let emulator: Child | undefined;
let dir = "";

// As several-networks.test.ts.
beforeAll(async () => {
  stack = await startFaultStack();
  dir = mkdtempSync(join(tmpdir(), "countersign-second-chain-"));
  const [ports] = await choosePorts({ free: true });
  const { flowEmulator } = await ensureTools(() => undefined);
  emulator = await startEmulator({ binary: flowEmulator, stateDir: dir, ports, logFile: join(dir, "emulator.log") });
  const files = stateFiles(stack.stack.stateDir);
  await setUpNetwork({
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

async function raw(method: string, path: string, token?: string, body?: unknown) {
  const headers = {
    ...(token && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { "content-type": "application/json" }),
  };
  const answer = await fetch(`${stack.stack.gateway}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === "" ? undefined : JSON.parse(text) };
}

/** A has a key on the first network, B on both. */
async function twoDevices() {
  const a = createPerson(stack.stack);
  await signUp(a, { idempotent: true });
  const b = createPhone(stack.stack, {});
  const asked = await b.client.requestTwoFactor({ login: await logIn(stack.stack, a.email), chainName: first });
  await a.client.approveTwoFactor(asked.twoFactorAuth.id, { matchingCode: await b.client.matchingCode(asked) });
  await b.client.waitForTwoFactor(asked);
  await persist(a, "further", async () =>
    b.client.signUp({ login: await logIn(stack.stack, a.email), chainName: second }),
  );
  const networks = async () => new Set((await b.client.me()).addresses.map(({ chainName }) => chainName)).size;
  await expect.poll(networks, { timeout: 30_000 }).toBe(2);
  return { a, b };
}

/** Asks to be enrolled on the second network, under any keys: the login is enough. */
async function ask(email: string, accountKey: string, deviceKey: string) {
  const login = await logIn(stack.stack, email);
  return raw("POST", "/auth/v1/signin/2fa", undefined, {
    request: { ...login, chainName: second },
    userKey: {
      type: "device",
      publicKey: accountKey,
      algorithm: "ES256",
      device: { publicKey: deviceKey, algorithm: "ES256", name: "New phone" },
    },
  });
}

/** The owner approves it by mistake, on B. Returns the answer of finishing. */
async function approveAndFinish(b: Phone, opened: { body: TwoFactorRequested }, account: string, device: string) {
  const { twoFactorAuth, ephemeralAccessToken } = opened.body;
  const key = (publicKey: string) => ({ algorithm: "ES256" as const, publicKey });
  const { id: twoFactorId, accountId } = twoFactorAuth;
  const code = await matchingCode({ accountId, twoFactorId, accountKey: key(account), deviceKey: key(device) });
  await b.client.approveTwoFactor(twoFactorId, { matchingCode: code });
  for (;;) {
    const body = { twoFactorAuthRequestId: twoFactorId };
    const answer = await raw("POST", "/auth/v1/signin/2fa/finish", ephemeralAccessToken, body);
    if (!["TwoFactorAuthPending", "RateLimited"].includes(answer.body?.error)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
  }
}

it("a new key does not come with another device's identity, name and age", { timeout: 120_000 }, async () => {
  const { a, b } = await twoDevices();
  const thief = generateKeyPair().publicKey.publicKey;
  const claimed = a.deviceKey.publicKey;
  const opened = await ask(a.email, thief, claimed);
  if (opened.status === 200) {
    // The attack.
    const { body } = await approveAndFinish(b, opened, thief, claimed);
    const token = body.credentials.accessToken;
    const names = (await b.client.devices()).map(({ publicKey }) => publicKey);
    const push = await raw("PUT", `/device/v1/devices/${claimed}`, token, { pushToken: "thief" });
    const removed = await raw("DELETE", `/device/v1/devices/${b.deviceKey.publicKey}`, token);
    const seen = { listed: names.includes(thief), push: push.status, removed: removed.status };
    expect(seen).toEqual({ listed: true, push: 409, removed: 403 });
  }
  expect(opened).toMatchObject({ status: 409, body: { error: "KeyAlreadyRegistered" } });
});

it("another device's account key does not come with a new identity, whose removal would block it", {
  timeout: 120_000,
}, async () => {
  const { a, b } = await twoDevices();
  const thief = generateKeyPair().publicKey.publicKey;
  const claimed = a.deviceKey.publicKey;
  const opened = await ask(a.email, claimed, thief);
  if (opened.status === 200) {
    // The attack: the thief's young device removes itself, which blocks A's key for good.
    const { body } = await approveAndFinish(b, opened, claimed, thief);
    const removed = await raw("DELETE", `/device/v1/devices/${thief}`, body.credentials.accessToken);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const me = await raw("GET", "/account/v1/me", a.client.credentials!.accessToken);
    const again = await a.client.signIn({ login: await logIn(stack.stack, a.email), chainName: first }).then(
      () => "signed in",
      ({ error }) => error,
    );
    expect({ removed: removed.status, me: me.status, again }).toEqual({ removed: 204, me: 200, again: "signed in" });
  }
  expect(opened).toMatchObject({ status: 409, body: { error: "KeyAlreadyRegistered" } });
});

it("a device joins a further network with its own key, and only its key opens the session", {
  timeout: 120_000,
}, async () => {
  const { a, b } = await twoDevices();
  const own = a.deviceKey.publicKey;
  // The login is enough to ask, without the key.
  const opened = await ask(a.email, own, own);
  expect(opened.status).toBe(200);
  const answer = await approveAndFinish(b, opened, own, own);
  const token = answer.body?.credentials?.accessToken;
  const removed = token && (await raw("DELETE", `/device/v1/devices/${b.deviceKey.publicKey}`, token)).status;
  expect({ ...answer, removed }).toMatchObject({
    status: 409,
    body: { error: "TwoFactorAuthFinished" },
    removed: undefined,
  });
  const signIn = async () => a.client.signIn({ login: await logIn(stack.stack, a.email), chainName: second });
  await expect(persist(a, "sign in", signIn)).resolves.toMatchObject({
    account: { id: opened.body.twoFactorAuth.accountId },
  });
});
