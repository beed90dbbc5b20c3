import { AppError } from "@countersign/errors";
import { AccountsService, GetAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import { AccountEventsService } from "@countersign/proto/device/v1/account_events.ts";
import { SigningService, SignStreamRequest, SignStreamResponse } from "@countersign/proto/signer/v1/signing.ts";
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { type Authority, createAuthority } from "../testing/authority.ts";
import { type TestServer, testServer } from "../testing/harness.ts";
import type { TlsMaterial } from "../tls.ts";
import type { VerifiedToken } from "../token/verifier.ts";
import { createRpcClient, type RpcClient } from "./client.ts";
import type { CallContext } from "./context.ts";

const service = { callers: ["gateway"], token: "service" as const };
const rpcs = {
  "account.v1.Accounts/DeployAccount": service,
  "account.v1.Accounts/GetAccount": service,
  "account.v1.Accounts/GetMe": { callers: ["gateway"], token: "user" as const },
  "account.v1.Accounts/LinkParent": { callers: ["gateway"], token: "optional" as const },
  "device.v1.AccountEvents/Watch": { callers: ["gateway"], token: "user" as const },
  "signer.v1.Signing/SignTransaction": { callers: ["gateway"], token: "ephemeral" as const },
  "signer.v1.Signing/SignPaymaster": { callers: ["gateway"], token: "user" as const, scopes: ["recover" as const] },
  "signer.v1.Signing/SignStream": service,
};

type Work = (call: CallContext) => Promise<void>;

let ours: Authority;
let gateway: TlsMaterial;
let running: TestServer;
let accounts: RpcClient<AccountsService>;
let events: RpcClient<AccountEventsService>;
let signing: RpcClient<SigningService>;
let work: Work;
let ended: Set<string>;

const tokenVerifier = {
  verify(raw: string): VerifiedToken {
    if (ended.has(raw)) throw new AppError("InvalidAccessToken");
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
  ended = new Set();
  work = async () => undefined;
  running = testServer(await ours.issue("account"), rpcs, {
    tokenVerifier,
    deadlineMs: 1_000,
    maxMessageBytes: 10_000,
  });
  const run = async (_request: unknown, call: CallContext) => {
    await work(call);
    return GetAccountResponse.create();
  };
  running.server
    .add(AccountsService, { deployAccount: run as never, getAccount: run, getMe: run, linkParent: run as never })
    .add(AccountEventsService, {
      async *watch(_request, call) {
        await work(call);
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
  const address = await running.listen();
  const options = { address, tls: gateway, serverName: "account", deadlineMs: 1_500 };
  accounts = createRpcClient(AccountsService, options);
  events = createRpcClient(AccountEventsService, options);
  signing = createRpcClient(SigningService, options);
});

afterEach(async () => {
  for (const client of [accounts, events, signing]) client.close();
  await running.server.stop(50);
});

const request = { accountId: "a", chainName: "c" };

describe("errors", () => {
  test("an AppError arrives whole", async () => {
    work = async () => {
      throw new AppError("RateLimited", {
        detail: "später wieder",
        fields: [{ pointer: "/name", detail: "too long" }],
        retryAfterSeconds: 1.5,
        metadata: { limit: "120" },
      });
    };
    await expect(accounts.getAccount(request)).rejects.toMatchObject({
      reason: "RateLimited",
      detail: "später wieder",
      fields: [{ pointer: "/name", detail: "too long" }],
      retryAfterSeconds: 1.5,
      metadata: { limit: "120" },
    });
  });

  test("an unknown error becomes Internal: its cause is logged, never sent, and the process lives", async () => {
    work = async () => {
      throw new Error("password of db.example is hunter2");
    };
    const error = await accounts.getAccount(request).catch((thrown: AppError) => thrown);
    expect(error).toMatchObject({ reason: "Internal", detail: "Something went wrong here" });
    expect(JSON.stringify([error, String((error as AppError).cause)])).not.toContain("hunter2");
    expect(running.log.text()).toContain("hunter2");
    work = async () => undefined;
    await accounts.getAccount(request);
  });

  test("messages beyond the limit are refused", async () => {
    await expect(accounts.getAccount({ ...request, chainName: "x".repeat(20_000) })).rejects.toBeInstanceOf(AppError);
  });
});

describe("time", () => {
  test("the server's deadline answers although the handler hangs, and aborts its signal", async () => {
    const aborted = vi.fn();
    work = (call) => {
      call.signal.addEventListener("abort", aborted);
      return new Promise(() => undefined);
    };
    await expect(accounts.getAccount(request)).rejects.toMatchObject({ reason: "DeadlineExceeded" });
    expect(aborted).toHaveBeenCalled();
  });

  test("a caller's shorter deadline wins, and passes on from call to call", async () => {
    let deadline: Date | undefined;
    work = async (call) => {
      deadline = call.deadline;
      await new Promise((resolve) => setTimeout(resolve, 300));
    };
    const parent = {
      requestId: "request-1",
      signal: new AbortController().signal,
      deadline: new Date(Date.now() + 100),
    };
    await expect(accounts.getAccount(request, { call: parent })).rejects.toMatchObject({ reason: "DeadlineExceeded" });
    expect(deadline!.getTime()).toBeLessThan(parent.deadline.getTime() + 100);
  });

  test("a caller that goes away aborts the handler", async () => {
    const aborted = vi.fn();
    work = (call) => {
      call.signal.addEventListener("abort", aborted);
      return new Promise(() => undefined);
    };
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(), 100);
    await expect(accounts.getAccount(request, { signal: leaving.signal })).rejects.toMatchObject({
      reason: "Unavailable",
    });
    await vi.waitFor(() => expect(aborted).toHaveBeenCalled());
  });

  test("stopping waits for running calls, then ends them", async () => {
    work = () => new Promise((resolve) => setTimeout(resolve, 150));
    const answered = accounts.getAccount(request);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await running.server.stop(500);
    await answered;
    await expect(accounts.getAccount(request)).rejects.toMatchObject({ reason: "Unavailable" });
  });

  test("a call that hangs does not keep the server from stopping", async () => {
    work = () => new Promise(() => undefined);
    const answer = accounts.getAccount(request).catch((error: AppError) => error.reason);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const started = performance.now();
    await running.server.stop(100);
    expect(performance.now() - started).toBeLessThan(500);
    expect(await answer).not.toBe("Internal");
  });
});

describe("retries", () => {
  const failTwice = () => {
    let count = 0;
    work = async () => {
      count += 1;
      if (count < 3) throw new AppError("Unavailable");
    };
    return () => count;
  };

  test("only calls that say idempotent are tried again", async () => {
    const count = failTwice();
    await expect(accounts.getAccount(request)).rejects.toMatchObject({ reason: "Unavailable" });
    expect(count()).toBe(1);
  });

  test("an idempotent call is tried three times", async () => {
    const count = failTwice();
    await accounts.getAccount(request, { idempotent: true });
    expect(count()).toBe(3);
  });

  test("codes that are not listed end it", async () => {
    let count = 0;
    work = async () => {
      count += 1;
      throw new AppError("Internal");
    };
    await expect(accounts.getAccount(request, { idempotent: true })).rejects.toMatchObject({ reason: "Internal" });
    expect(count).toBe(1);
  });
});

describe("request ids and traces", () => {
  test("pass on as they are, and are made anew when they are not sane", async () => {
    const seen: string[] = [];
    work = async (call) => void seen.push(call.requestId, call.trace.traceId);
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    await accounts.getAccount(request, { requestId: "request-77", traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    await accounts.getAccount(request, { requestId: "bad id", traceparent: "nonsense" });
    expect(seen.slice(0, 2)).toEqual(["request-77", traceId]);
    expect(seen[2]).toMatch(/^[0-9a-f-]{36}$/);
    expect(seen[3]).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("tokens", () => {
  test("a user RPC needs a full token", async () => {
    await expect(accounts.getMe({} as never)).rejects.toMatchObject({ reason: "Unauthenticated" });
    await expect(accounts.getMe({} as never, { token: "a.sign" })).rejects.toMatchObject({
      reason: "InsufficientScope",
    });
    await expect(accounts.getMe({} as never, { token: "a.recover" })).rejects.toMatchObject({
      reason: "InsufficientScope",
    });
    await expect(accounts.getMe({} as never, { token: "two words" })).rejects.toMatchObject({
      reason: "InvalidAccessToken",
    });
    await accounts.getMe({} as never, { token: "a.full" });
  });

  test("an ephemeral RPC takes full and sign; the table may name more scopes", async () => {
    const message = { message: Buffer.alloc(1), chainName: "" } as never;
    await signing.signTransaction(message, { token: "a.sign" });
    await signing.signTransaction(message, { token: "a.full" });
    await expect(signing.signTransaction(message, { token: "a.recover" })).rejects.toMatchObject({
      reason: "InsufficientScope",
    });
    await signing.signPaymaster(message, { token: "a.recover" });
    await expect(signing.signPaymaster(message, { token: "a.sign" })).rejects.toMatchObject({
      reason: "InsufficientScope",
    });
  });

  test("an optional token is verified where it is sent; a service RPC never shows one", async () => {
    const seen: unknown[] = [];
    work = async (call) => void seen.push(call.token?.accountId, call.rawToken);
    await accounts.linkParent({} as never);
    await accounts.linkParent({} as never, { token: "a.full" });
    await expect(accounts.linkParent({} as never, { token: "a.wrong" })).rejects.toMatchObject({
      reason: "InvalidAccessToken",
    });
    await accounts.getAccount(request, { token: "a.full" });
    expect(seen).toEqual([undefined, undefined, "a", "a.full", undefined, undefined]);
  });

  test("a call's token goes on to the next service", async () => {
    const seen: unknown[] = [];
    work = async (call) => void seen.push(call.rawToken);
    const parent = { requestId: "request-1", signal: new AbortController().signal, rawToken: "b.full" };
    await accounts.getMe({} as never, { call: parent });
    expect(seen).toEqual(["b.full"]);
  });

  test("no token is logged", async () => {
    await accounts.getMe({} as never, { token: "secret-account.full" });
    expect(running.log.text()).not.toContain("secret-account");
  });
});

describe("streams", () => {
  test("deliver until the reader has enough", async () => {
    const ids: string[] = [];
    for await (const { id } of events.watch({ lastEventId: "" }, { token: "a.full" })) {
      ids.push(id);
      if (ids.length === 3) break;
    }
    expect(ids).toEqual(["0", "1", "2"]);
  });

  test("end with the session", async () => {
    const read = async () => {
      for await (const { id } of events.watch({ lastEventId: "" }, { token: "a.full" }))
        if (id === "2") ended.add("a.full");
    };
    await expect(read()).rejects.toMatchObject({ reason: "InvalidAccessToken" });
  });

  test("are refused without a token, with an error that has its reason", async () => {
    const read = async () => {
      for await (const _ of events.watch({ lastEventId: "" }));
    };
    await expect(read()).rejects.toMatchObject({ reason: "Unauthenticated" });
    work = async () => {
      throw new Error("inside");
    };
    const failing = async () => {
      for await (const _ of events.watch({ lastEventId: "" }, { token: "a.full" }));
    };
    await expect(failing()).rejects.toMatchObject({ reason: "Internal" });
  });

  test("in both directions", async () => {
    async function* requests() {
      for (let id = 1; id <= 500; id += 1) yield SignStreamRequest.create({ requests: [{ id }] });
    }
    let sum = 0;
    for await (const { answers } of signing.signStream(requests())) sum += answers[0]!.id;
    expect(sum).toBe(125_250);
  });
});
