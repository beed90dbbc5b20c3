import { AppError, type TlsMaterial, type VerifiedToken } from "@countersign/core";
import { AccountsService, GetAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import { SigningService, SignStreamResponse } from "@countersign/proto/signer/v1/signing.ts";
import { afterEach, beforeAll, beforeEach } from "vitest";
import { createRpcClient, type SoleRpcClient } from "../client.ts";
import type { CallContext } from "../context.ts";
import { type Authority, createAuthority } from "./authority.ts";
import { type TestServer, testServer } from "./harness.ts";

const service = { callers: ["gateway"], token: "service" as const };
const rpcs = {
  "account.v1.Accounts/DeployAccount": service,
  "account.v1.Accounts/GetAccount": service,
  "account.v1.Accounts/GetMe": { callers: ["gateway"], token: "user" as const },
  "account.v1.Accounts/LinkParent": { callers: ["gateway"], token: "optional" as const },
  "account.v1.Accounts/CancelDeployment": { callers: ["gateway"], token: "service" as const },
  "device.v1.AccountEvents/Watch": { callers: ["gateway"], token: "user" as const },
  "signer.v1.Signing/SignTransaction": { callers: ["gateway"], token: "ephemeral" as const },
  "signer.v1.Signing/SignPaymaster": { callers: ["gateway"], token: "user" as const, scopes: ["recover" as const] },
  "signer.v1.Signing/SignStream": service,
  "signer.v1.Freezing/SignVoid": { callers: ["account"], token: "user" as const },
};

type Work = (call: CallContext) => Promise<void>;

let ours: Authority;
let gateway: TlsMaterial;

/** A server of three services and clients of it, created again for each test. */
export const world = {} as {
  running: TestServer;
  accounts: SoleRpcClient<AccountsService>;
  events: SoleRpcClient<AccountEventsService>;
  signing: SoleRpcClient<SigningService>;
  /** The work of a handler before it answers. */
  work: Work;
  /** Tokens that are no longer valid. */
  ended: Set<string>;
};

const tokenVerifier = {
  verify(raw: string): VerifiedToken {
    if (world.ended.has(raw)) throw new AppError("InvalidAccessToken");
    const [accountId = "", scope = ""] = raw.split(".");
    if (!["full", "sign", "recover"].includes(scope)) throw new AppError("InvalidAccessToken");
    return { accountId, scope } as VerifiedToken;
  },
};

beforeAll(async () => {
  ours = await createAuthority();
  gateway = await ours.issue("gateway");
});

beforeEach(async () => {
  world.ended = new Set();
  world.work = async () => undefined;
  world.running = testServer(await ours.issue("account"), rpcs, {
    tokenVerifier,
    deadlineMs: 1_000,
    maxMessageBytes: 10_000,
  });
  const run = async (_request: unknown, call: CallContext) => {
    await world.work(call);
    return GetAccountResponse.create();
  };
  world.running.server
    .add(AccountsService, {
      deployAccount: run as never,
      cancelDeployment: run as never,
      getAccount: run,
      getMe: run,
      linkParent: run as never,
    })
    .add(AccountEventsService, {
      async *watch(_request, call) {
        await world.work(call);
        for (let id = 0; !call.signal.aborted; id += 1) {
          yield { id: String(id), type: "t", dataJson: call.token?.accountId ?? "", occurredAt: new Date(0) };
          if (id > 0) await new Promise((resolve) => setTimeout(resolve, 20));
        }
      },
    })
    .add(SigningService, {
      signTransaction: run as never,
      signPaymaster: run as never,
      async *signStream(requests) {
        for await (const {
          requests: [first],
        } of requests)
          yield SignStreamResponse.create({ answers: [{ id: first!.id }] });
      },
    });
  const address = await world.running.listen();
  const options = { address, tls: gateway, serverName: "account", deadlineMs: 1_500 };
  world.accounts = createRpcClient(AccountsService, options);
  world.events = createRpcClient(AccountEventsService, options);
  world.signing = createRpcClient(SigningService, options);
});

afterEach(async () => {
  for (const client of [world.accounts, world.events, world.signing]) client.close();
  await world.running.server.stop(50);
});

export const request = { accountId: "a", chainName: "c" };
