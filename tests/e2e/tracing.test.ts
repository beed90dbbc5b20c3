import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sendTransaction } from "@countersign/client";
import { type RunningStack, startStack } from "@countersign/local-stack/stack.ts";
import { beginWith, removeState } from "@countersign/local-stack/testing/stack-template.ts";
import { networkOf, type Person, signUpPerson } from "@countersign/testing";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type ReceivedSpan, startTraceReceiver } from "../support/trace-receiver.ts";

const stateDir = mkdtempSync(join(tmpdir(), "countersign-tracing-"));
let spans: ReceivedSpan[] = [];
let person: Person;

beforeAll(async () => {
  const receiver = await startTraceReceiver();
  let running: RunningStack | undefined;
  try {
    await beginWith(inject("stackTemplate"), stateDir);
    running = await startStack({
      stateDir,
      freePorts: true,
      throwAway: true,
      isCopy: true,
      say: () => undefined,
      extraEnvironment: () => ({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }),
    });
    // Its first calls may be late and sent again: what runs for the first time takes several times as long.
    await signUpPerson(running.stack);
    person = await signUpPerson(running.stack);
    const network = networkOf(running.stack);
    await person.client.signIn({ login: person.login, chainName: network.chainName });
    await sendTransaction(person.client, {
      network,
      cadence: "transaction { prepare(a: &Account) {} }",
    });
  } finally {
    // Processes export their last spans when they stop.
    await running?.stop();
    await receiver.close();
  }
  spans = receiver.spans;
}, 240_000);
afterAll(() => removeState(stateDir));

/** Returns the spans of the last trace that begins with a request at the gateway. */
function traceOf(request: string): ReceivedSpan[] {
  const first = spans.findLast(({ service, name }) => service === "gateway" && name === request);
  return spans.filter(({ traceId }) => traceId === first?.traceId);
}

/** Returns the names from the first span of a trace down to the only one of this name. */
function pathTo(trace: readonly ReceivedSpan[], service: string, name: string): string[] {
  const [found, ...others] = trace.filter((span) => span.service === service && span.name === name);
  // Several consumers may handle one event.
  expect(others.filter(({ parentSpanId }) => parentSpanId !== found?.parentSpanId)).toEqual([]);
  const path: string[] = [];
  for (let at = found; at !== undefined; at = trace.find(({ spanId }) => spanId === at?.parentSpanId)) {
    path.unshift(`${at.service}: ${at.name}`);
  }
  return path;
}

it.each([
  "POST /auth/v1/signup",
  "POST /auth/v1/signin/challenge",
  "POST /auth/v1/signin/challenge/respond",
  "GET /account/v1/me",
  "POST /sign/v1/cadence/transaction",
  "POST /sign/v1/cadence/paymaster",
])("the trace of %s is whole: one first span, and the parent of each other one", (request) => {
  const trace = traceOf(request);
  const known = new Set(trace.map(({ spanId }) => spanId));
  const firsts = trace.filter(({ parentSpanId }) => parentSpanId === "");
  expect(firsts.map(({ name }) => name)).toEqual([request]);
  expect(trace.filter(({ parentSpanId }) => parentSpanId !== "" && !known.has(parentSpanId))).toEqual([]);
  expect(trace.filter(({ failed }) => failed)).toEqual([]);
});

describe("the trace of a sign-up", () => {
  const request = "POST /auth/v1/signup";
  const creation = [
    `gateway: ${request}`,
    "gateway: auth.v1.SignUp/SignUp",
    "auth: auth.v1.SignUp/SignUp",
    "auth: account.v1.Accounts/DeployAccount",
    "account: account.v1.Accounts/DeployAccount",
    "account: accounts.queue",
    "account: creation",
  ];

  it("leads to the chain, through a queue", () => {
    expect(pathTo(traceOf(request), "account", "chain.submit")).toEqual([...creation, "account: chain.submit"]);
  });

  it("leads to the signer's key and its audit log", () => {
    const signing = ["account: signer.v1.Creation/SignCreation", "signer: signer.v1.Creation/SignCreation"];
    for (const call of ["vault.sign", "audit.append"]) {
      expect(pathTo(traceOf(request), "signer", call)).toEqual([...creation, ...signing, `signer: ${call}`]);
    }
  });

  it("leads to the other services, and to those that learn of it by an event", () => {
    const trace = traceOf(request);
    const registering = [...creation.slice(0, 3), "auth: device.v1.Devices/RegisterDevice"];
    const registered = [...registering, "device: device.v1.Devices/RegisterDevice", "device: devices.insertFirst"];
    expect(pathTo(trace, "device", "on device-registered")).toEqual([...registered, "device: on device-registered"]);
    expect(pathTo(trace, "key", "keys.insertFirst")).toHaveLength(6);
    expect(pathTo(trace, "auth", "provider.verifyToken")).toHaveLength(4);
  });
});

it("the trace of a sign-in leads to the key that signed, to the account and to the session", () => {
  const request = "POST /auth/v1/signin/challenge/respond";
  const path = [
    `gateway: ${request}`,
    "gateway: auth.v1.SignIn/RespondChallenge",
    "auth: auth.v1.SignIn/RespondChallenge",
  ];
  expect(pathTo(traceOf(request), "auth", "challenges.succeed")).toEqual([...path, "auth: challenges.succeed"]);
  for (const [service, rpc] of [
    ["key", "key.v1.Keys/FindSignInKeys"],
    ["account", "account.v1.Accounts/GetAccount"],
  ] as const) {
    const names = traceOf(request).map(({ service: at, name }) => `${at}: ${name}`);
    expect(names).toEqual(expect.arrayContaining([`auth: ${rpc}`, `${service}: ${rpc}`]));
  }
});

it("the trace of a signature leads through the stream to the key and the audit log", () => {
  const request = "POST /sign/v1/cadence/transaction";
  const path = [`gateway: ${request}`, "gateway: signer.v1.Signing/SignTransaction"];
  path.push("signer: signer.v1.Signing/SignTransaction");
  for (const call of ["vault.sign", "audit.append"]) {
    expect(pathTo(traceOf(request), "signer", call)).toEqual([...path, `signer: ${call}`]);
  }
  const [first] = traceOf(request).filter(({ parentSpanId }) => parentSpanId === "");
  expect(first).toMatchObject({
    kind: 2,
    attributes: { "http.route": "/sign/v1/cadence/transaction", "http.response.status_code": 200 },
  });
});

it("only requests begin traces: jobs, which poll, do not", () => {
  const firsts = spans.filter(({ parentSpanId }) => parentSpanId === "");
  expect(new Set(firsts.map(({ service }) => service))).toEqual(new Set(["gateway"]));
});

it("no span says who the person is", () => {
  const text = JSON.stringify(spans);
  const { accessToken } = person.client.credentials!;
  for (const secret of [person.email, person.address, person.signedUp.account.id, accessToken]) {
    expect(text).not.toContain(secret);
  }
});
