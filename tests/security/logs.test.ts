import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sendTransaction } from "@countersign/client";
import { createPhone, secondPhone, signUp } from "@countersign/testing";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { chainName, network, newEmail, stack } from "../support/person.ts";
import { send } from "../support/raw-request.ts";
import { idTokenOf } from "./attacker.ts";
import { secret, secretKey, secretsInLogs, stateDir } from "./secrets.ts";

const PROCESSES = ["gateway", "auth", "device", "key", "account", "signer"] as const;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TRACE = /^[0-9a-f]{32}$/;

/** A line of a process's log. */
interface Line extends Record<string, unknown> {
  readonly process: string;
  readonly traceId?: string;
}

/** A request of this test and its answer. */
interface Exchange {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly error: string | undefined;
}
const exchanges: Exchange[] = [];

const isSecretName = (name: string) => /token|signature|challengeData|code|nonce/i.test(name);

/** Registers what a document has of tokens, signatures and challenges. */
function registerSecrets(document: unknown): void {
  if (typeof document !== "object" || document === null) return;
  for (const [name, value] of Object.entries(document)) {
    if (typeof value === "string" && isSecretName(name)) secret(name, value);
    registerSecrets(value);
  }
}

/** Sends a request for a client, and keeps what the log must and must not have of it. */
const recording: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  const authorization = request.headers.get("authorization");
  if (authorization) secret("access token", authorization.replace("Bearer ", ""));
  const body = await request.clone().text();
  if (body) registerSecrets(JSON.parse(body));
  const response = await fetch(request);
  const text = await response.clone().text();
  const answer = text === "" ? undefined : JSON.parse(text);
  registerSecrets(answer);
  exchanges.push({
    requestId: response.headers.get("x-request-id")!,
    method: request.method,
    path: new URL(request.url).pathname,
    status: response.status,
    error: answer?.error,
  });
  return response;
};

function recordingPhone() {
  const phone = createPhone(stack, { fetch: recording });
  secretKey(phone.deviceKey.toJwk());
  return phone;
}

const linesOf = (process: string): Line[] =>
  readFileSync(join(stateDir, "log", `${process}.log`), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => ({ ...JSON.parse(line), process }));
const allLines = () => PROCESSES.flatMap(linesOf);

/** Returns the line of an exchange at the gateway. */
const requestLine = (lines: readonly Line[], { requestId }: Exchange) =>
  lines.filter((line) => line.process === "gateway" && line.msg === "request" && line.requestId === requestId);

/** Returns the lines of an RPC in the trace of the exchanges with this path, in order. */
function decisions(lines: readonly Line[], path: string | RegExp, process: string, rpc: string): Line[] {
  const traces = exchanges
    .filter((each) => (typeof path === "string" ? each.path === path : path.test(each.path)))
    .map((exchange) => requestLine(lines, exchange)[0]!.traceId);
  return traces.flatMap((traceId) =>
    lines.filter((line) => line.process === process && line.traceId === traceId && line.rpc === rpc),
  );
}

let accountId: string;
let lines: Line[] = [];

beforeAll(async () => {
  const email = newEmail();
  const { idToken, nonce } = await idTokenOf(email);
  const login = { method: "id_token_channel", token: idToken, nonce } as const;
  const phone = await signUp(stack, recordingPhone(), login);
  accountId = phone.signedUp.account.id;
  await phone.client.signIn({ login, chainName });
  const second = await secondPhone(stack, { email, client: phone.client }, recordingPhone());
  await sendTransaction(phone.client, { network, cadence: "transaction { prepare(a: &Account) {} }" });
  const forbidden = "transaction { prepare(a: auth(AddKey) &Account) {} }";
  await expect(sendTransaction(phone.client, { network, cadence: forbidden })).rejects.toMatchObject({ status: 403 });
  // The second phone signs the first one's challenge.
  const { publicKey, algorithm } = phone.deviceKey;
  const asked = await send({
    method: "POST",
    path: "/auth/v1/signin/challenge",
    body: { challengeType: "deviceKey", request: { ...login, chainName }, publicKey, algorithm },
  });
  const { challengeData } = asked.body;
  const signature = Buffer.from(await second.deviceKey.sign(Buffer.from(challengeData, "hex"))).toString("hex");
  const wrong = await recording(`${stack.gateway}/auth/v1/signin/challenge/respond`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ challengeType: "deviceKey", challengeData, deviceKey: { signature } }),
  });
  expect(wrong.status).toBe(401);
  // Lines of 100 ms are written together. The last request's line in auth is the last of all.
  await vi.waitFor(
    () => {
      lines = allLines();
      expect(exchanges.filter((each) => requestLine(lines, each).length === 0)).toEqual([]);
      const last = exchanges.at(-1)!;
      expect(lines.some(({ process, requestId }) => process === "auth" && requestId === last.requestId)).toBe(true);
    },
    { timeout: 10_000, interval: 100 },
  );
}, 120_000);

it("each request has one line with its trace, its account and, where it was refused, the reason", () => {
  expect(exchanges.length).toBeGreaterThan(12);
  for (const exchange of exchanges) {
    const { method, path, status, error } = exchange;
    const found = requestLine(lines, exchange);
    expect(found, `${method} ${path}`).toHaveLength(1);
    const [line] = found;
    expect(line).toMatchObject({ method, status, level: "info", traceId: expect.stringMatching(TRACE) });
    expect(line!.durationMs).toBeTypeOf("number");
    expect(line!.reason).toBe(error);
    // Before the answer to a challenge was right, the gateway knows of no account.
    const isAnonymous = /challenge$|2fa$/.test(path) || (error !== undefined && path.endsWith("respond"));
    if (!isAnonymous) expect(line, `${method} ${path}`).toMatchObject({ accountId });
  }
});

describe("each decision has one line at its owner, with trace, account and reason", () => {
  it.each([
    ["a sign-up", "/auth/v1/signup", "auth", "auth.v1.SignUp/SignUp", [undefined]],
    ["its account", "/auth/v1/signup", "account", "account.v1.Accounts/DeployAccount", [undefined]],
    ["its key", "/auth/v1/signup", "key", "key.v1.Keys/RegisterKey", [undefined]],
    ["its device", "/auth/v1/signup", "device", "device.v1.Devices/RegisterDevice", [undefined]],
    [
      "sign-ins, the second with a wrong key",
      "/auth/v1/signin/challenge/respond",
      "auth",
      "auth.v1.SignIn/RespondChallenge",
      [undefined, "InvalidSignature"],
    ],
    ["a new device", "/auth/v1/signin/2fa", "auth", "auth.v1.SignIn/RequestTwoFactor", [undefined]],
    ["an approval", /\/2fa\/[^/]+\/approve$/, "device", "device.v1.TwoFactor/ApproveTwoFactor", [undefined]],
    [
      "signatures, the second refused",
      "/sign/v1/cadence/transaction",
      "signer",
      "signer.v1.Signing/SignTransaction",
      [undefined, "SigningRefused"],
    ],
    ["fees", "/sign/v1/cadence/paymaster", "signer", "signer.v1.Signing/SignPaymaster", [undefined]],
  ] as const)("%s", (_name, path, process, rpc, reasons) => {
    const found = decisions(lines, path, process, rpc);
    expect(found.map(({ reason }) => reason)).toEqual(reasons);
    for (const line of found) {
      const msg = line.reason === undefined ? "call answered" : "call refused";
      expect(line).toMatchObject({ level: "info", accountId, msg, requestId: expect.any(String) });
      expect(line.code).toBe(line.reason === undefined ? "OK" : line.code);
      expect(line.durationMs).toBeTypeOf("number");
    }
  });

  it("the refused signature has its rule", () => {
    const path = "/sign/v1/cadence/transaction";
    const [, refused] = decisions(lines, path, "signer", "signer.v1.Signing/SignTransaction");
    expect(refused).toMatchObject({ code: "PERMISSION_DENIED", rule: "ForbiddenEntitlement" });
    const [, exchange] = exchanges.filter((each) => each.path === path);
    expect(requestLine(lines, exchange!)).toMatchObject([{ status: 403, rule: "ForbiddenEntitlement" }]);
  });

  it("the signer's decision about the new account names it", () => {
    const created = lines.filter(({ rpc }) => rpc === "signer.v1.Creation/SignCreation");
    const own = created.filter((line) => (line.accountId as string[]).includes(accountId));
    expect(own).toMatchObject([{ process: "signer", level: "info", code: "OK" }]);
  });
});

it("no request leaves a line twice: one for each RPC of a trace", () => {
  const traces = new Set(exchanges.flatMap((each) => requestLine(lines, each)[0]!.traceId!));
  const calls = lines.filter(({ traceId, rpc }) => traces.has(traceId!) && rpc !== undefined);
  const names = calls.map(({ process, traceId, rpc }) => `${traceId} ${process} ${rpc}`);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

it("no line leaves a field out, and accounts are named by their ids", () => {
  expect(lines.filter(({ dropped }) => dropped !== undefined)).toEqual([]);
  const named = lines.flatMap((line) => line.accountId ?? []).flat();
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((each) => !UUID.test(String(each)))).toEqual([]);
});

it("no log has a token, key, code, signature, challenge or e-mail address of the run", () => {
  const { looked, found } = secretsInLogs();
  expect(looked).toBeGreaterThan(20);
  expect(found).toEqual([]);
});
