import { AccountsService, GetAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import { type Call, CallsService } from "@countersign/proto/rpc/v1/calls.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createRpcClient, type SoleRpcClient } from "./client.ts";
import { createAuthority } from "./testing/authority.ts";
import { type TestServer, testServer } from "./testing/harness.ts";

const rpcs = {
  "rpc.v1.Calls/Stream": { callers: ["gateway", "demo-backend"], token: "service" as const },
  "grpc.health.v1.Health/*": { callers: ["*"], token: "service" as const },
  "account.v1.Accounts/DeployAccount": { callers: ["gateway"], token: "service" as const },
  "account.v1.Accounts/GetAccount": { callers: ["gateway"], token: "service" as const },
  "account.v1.Accounts/GetMe": { callers: ["gateway"], token: "service" as const },
  "account.v1.Accounts/LinkParent": { callers: ["gateway"], token: "service" as const },
  "account.v1.Accounts/CancelDeployment": { callers: ["gateway"], token: "service" as const },
};
const HOSTILE = [
  "nowhere.v1.Nothing/AtAll",
  "account.v1.Accounts/",
  "account.v1.Accounts/GetAccount ",
  "account.v1.accounts/getaccount",
  "/account.v1.Accounts/GetAccount",
  "grpc.health.v1.Health/Check",
  "grpc.health.v1.Health/Made up",
  "rpc.v1.Calls/Stream",
  "__proto__",
  "constructor",
  "",
  "x".repeat(500),
  'a"} 1\nforged_metric{b="',
];

let running: TestServer;
const clients: Record<string, SoleRpcClient<CallsService>> = {};
beforeAll(async () => {
  const ours = await createAuthority();
  running = testServer(await ours.issue("account"), rpcs);
  const answer = async () => GetAccountResponse.create() as never;
  running.server.add(AccountsService, {
    deployAccount: answer,
    cancelDeployment: answer,
    getAccount: answer,
    getMe: answer,
    linkParent: answer,
  });
  const address = await running.listen();
  for (const name of ["gateway", "demo-backend", "other-backend"]) {
    clients[name] = createRpcClient(CallsService, {
      address,
      tls: await ours.issue(name),
      serverName: "account",
      deadlineMs: 3_000,
    });
  }
});
afterAll(async () => {
  for (const client of Object.values(clients)) client.close();
  await running?.server.stop(50);
});

/** Sends calls by these names on one stream. Returns how many were answered. */
async function call(client: SoleRpcClient<CallsService>, methods: readonly string[]): Promise<number> {
  async function* messages() {
    const call = {
      request: Buffer.alloc(0),
      accessToken: "",
      requestId: "",
      traceparent: "",
      clientIp: "",
      timeoutMs: 1_000,
    };
    yield { calls: methods.map((method, id): Call => ({ ...call, id, method })) };
  }
  let answered = 0;
  for await (const { answers } of client.stream(messages())) {
    for (const { status } of answers) if (status !== undefined) answered++;
  }
  return answered;
}

it.each(["gateway", "demo-backend"])("no label comes from what %s calls a method", async (caller) => {
  expect(await call(clients[caller]!, HOSTILE)).toBe(HOSTILE.length);
  const text = await running.metrics.registry.metrics();
  const methods = new Set([...text.matchAll(/method="([^"]*)"/g)].map(([, method]) => method));
  expect([...methods].sort()).toEqual(["rpc.v1.Calls/Stream", "unknown"]);
  expect(text).not.toContain("forged");
});

it("the stream itself is counted, and its hours are no call's seconds", async () => {
  const text = await running.metrics.registry.metrics();
  expect(text).toMatch(/^countersign_rpc_server_streams_total\{method="rpc\.v1\.Calls\/Stream",code="OK".*\} 2$/m);
  expect(text).not.toMatch(/_seconds_count\{.*Stream"/);
});

it("the log does not repeat the unknown name either", () => {
  expect(running.log.text()).not.toMatch(/forged|xxxx|nowhere/);
});

it("a peer that is not listed for Calls cannot open the stream", async () => {
  await expect(call(clients["other-backend"]!, ["account.v1.Accounts/GetAccount"])).rejects.toMatchObject({
    reason: "CallerNotAllowed",
  });
});
