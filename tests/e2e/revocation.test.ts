import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { KeysService } from "@countersign/proto/key/v1/keys.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { afterAll, expect, it } from "vitest";
import { stateDir } from "../security/secrets.ts";
import { chainName, logIn, type Person, type Phone, secondPhone, signUpPerson, stack } from "../support/person.ts";
import { call } from "../support/raw-request.ts";

const tls = loadTls(tlsFiles(stateDir, "gateway"));
const at = (serverName: string) => ({
  address: stack.processes[serverName]!.grpc!,
  tls,
  serverName,
  deadlineMs: 3_000,
});
const auth = createRpcClient(SessionsService, at("auth"));
const device = createRpcClient(DevicesService, at("device"));
const key = createRpcClient(KeysService, at("key"));
const account = createRpcClient(AccountsService, at("account"));
const signer = createRpcClient(SigningService, at("signer"));
afterAll(() => {
  for (const client of [auth, device, key, account, signer]) client.close();
});

const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "taken",
    ({ reason }: { reason?: string }) => reason ?? "unknown",
  );

/** Each service by itself, past the gateway, which would refuse before them. */
const asked: Record<string, (token: string) => Promise<string>> = {
  gateway: async (token) => (await call("GET", "/account/v1/me", { token })).body.error ?? "taken",
  auth: (token) => outcome(auth.listSessions({}, { token })),
  device: (token) => outcome(device.listDevices({}, { token })),
  key: (token) => outcome(key.listKeys({ includeRevoked: false }, { token })),
  account: (token) => outcome(account.getMe({}, { token })),
  // The message is checked after the token: InvalidMessage means that the token was accepted.
  signer: async (token) => {
    const answer = await outcome(signer.signTransaction({ message: Buffer.alloc(40), chainName }, { token }));
    return answer === "InvalidMessage" ? "taken" : answer;
  },
};

it.each<[string, (owner: Person, phone: Phone, sessionId: string) => Promise<unknown>]>([
  ["ended by another session", ({ client }, _phone, sessionId) => client.endSession(sessionId)],
  ["ended with its device", ({ client }, { deviceKey }) => client.removeDevice(deviceKey.publicKey)],
  [
    "replaced by a new one of its device",
    async ({ email }, { client }) => client.signIn({ login: await logIn(email), chainName }),
  ],
])("a session that was %s stops within two seconds in every service and on the stream", async (_, end) => {
  const owner = await signUpPerson();
  const phone = await secondPhone(owner);
  const { client } = phone;
  const token = client.credentials!.accessToken;
  const sessionId = (await client.sessions()).find(({ current }) => current)!.id;
  const stream = await fetch(`${stack.gateway}/device/v1/events`, { headers: { authorization: `Bearer ${token}` } });
  expect(stream.status).toBe(200);
  for (const [name, ask] of Object.entries(asked)) expect(await ask(token), name).toBe("taken");

  const started = performance.now();
  const took: Record<string, number> = {};
  const stopped = async (name: string, ask: (token: string) => Promise<string>) => {
    while ((await ask(token)) !== "SessionEnded") await new Promise((resolve) => setTimeout(resolve, 20));
    took[name] = performance.now() - started;
  };
  const streamed = (async () => {
    for await (const _chunk of stream.body!);
    took.stream = performance.now() - started;
  })();
  await end(owner, phone, sessionId);
  await Promise.all([streamed, ...Object.entries(asked).map(([name, ask]) => stopped(name, ask))]);
  expect(Math.max(...Object.values(took)), JSON.stringify(took)).toBeLessThan(2_000);
  expect(Object.keys(took)).toHaveLength(7);
});
