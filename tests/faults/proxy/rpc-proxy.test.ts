import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { internalName } from "@countersign/core";
import { ensureCertificates, tlsFiles } from "@countersign/local-stack/certificates.ts";
import { StreamRequest } from "@countersign/proto/rpc/v1/calls.ts";
import { loadTls } from "@countersign/runtime";
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceError,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type RpcProxy, startRpcProxy } from "./rpc-proxy.ts";

const raw = (bytes: Buffer): Buffer => bytes;
const method = (name: string, responseStream: boolean) => ({
  path: `/test.v1.Echo/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: raw,
  requestDeserialize: raw,
  responseSerialize: raw,
  responseDeserialize: raw,
});
const SAY = "test.v1.Echo/Say";

const stateDir = mkdtempSync(join(tmpdir(), "countersign-proxy-"));
const tls = (name: string) => loadTls(tlsFiles(stateDir, name));
/** The requests that the callee received, in their order. */
const received: string[] = [];
let callee: Server;
let proxy: RpcProxy;
let client: Client;

beforeAll(async () => {
  await ensureCertificates(stateDir);
  callee = new Server();
  callee.addService(
    {
      say: method("Say", false),
      count: method("Count", true),
      // Receives calls that share a stream, and answers none of them.
      together: { ...method("", true), path: "/rpc.v1.Calls/Stream", requestStream: true },
    },
    {
      together: () => undefined,
      say: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => {
        received.push(call.request.toString());
        if (call.request.toString() === "refuse") {
          const metadata = new Metadata();
          metadata.set("why-bin", Buffer.from([1, 2, 3]));
          return done({ code: status.ABORTED, details: "no", metadata });
        }
        const trailer = new Metadata();
        trailer.set("received", String(received.length));
        trailer.set("asked-by", String(call.metadata.get("asked-by")));
        done(null, Buffer.from(`${call.request} ${received.length}`), trailer);
      },
      count: async (call: ServerWritableStream<Buffer, Buffer>) => {
        for (let i = 0; !call.cancelled && i < 1000; i++) {
          call.write(Buffer.from(`${i}`));
          if (i === 2 && call.request.toString() === "3") return call.end();
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
        received.push("cancelled");
      },
    },
  );
  const { ca, cert, key } = tls("account");
  const secure = ServerCredentials.createSsl(ca, [{ cert_chain: cert, private_key: key }], true);
  const port = await new Promise<number>((resolve, reject) =>
    callee.bindAsync("127.0.0.1:0", secure, (error, bound) => (error ? reject(error) : resolve(bound))),
  );
  proxy = await startRpcProxy({
    target: `127.0.0.1:${port}`,
    serverName: internalName("account"),
    callee: tls("account"),
    caller: tls("auth"),
  });
});
afterAll(async () => {
  await proxy.close();
  callee.forceShutdown();
  rmSync(stateDir, { recursive: true, force: true });
});

const dial = ({ ca, key, cert } = tls("auth")) =>
  new Client(proxy.address, credentials.createSsl(ca, key, cert), {
    "grpc.ssl_target_name_override": internalName("account"),
    "grpc.use_local_subchannel_pool": 1,
  });
beforeEach(() => {
  received.length = 0;
  client = dial();
  proxy.resetCounts();
});
afterEach(() => client.close());

/** Calls an RPC; returns the answer with its trailer, or the error. */
const say = (text: string, deadlineMs = 5_000): Promise<{ answer: string; trailers: Metadata }> =>
  new Promise((resolve, reject) => {
    const metadata = new Metadata();
    metadata.set("asked-by", "somebody");
    const deadline = Date.now() + deadlineMs;
    let answer = "";
    const call = client.makeUnaryRequest(
      `/${SAY}`,
      raw,
      raw,
      Buffer.from(text),
      metadata,
      { deadline },
      (error, value) => {
        if (error) reject(error);
        else answer = String(value);
      },
    );
    call.on("status", ({ code, metadata: trailers }) => code === status.OK && resolve({ answer, trailers }));
  });
const refusal = (work: Promise<unknown>): Promise<ServiceError> =>
  work.then(
    () => Promise.reject(new Error("there was an answer")),
    (error) => error as ServiceError,
  );

describe("a gRPC proxy", () => {
  it("passes messages, metadata and trailers, and counts by RPC", async () => {
    const { answer, trailers } = await say("hello");
    expect(answer).toBe("hello 1");
    expect(trailers.get("asked-by")).toEqual(["somebody"]);
    await say("x".repeat(500_000));
    expect([...proxy.counts]).toEqual([[SAY, 2]]);
  });

  it("passes a refusal with its details", async () => {
    const { code, details, metadata } = await refusal(say("refuse"));
    expect({ code, details, why: metadata.get("why-bin") }).toEqual({
      code: status.ABORTED,
      details: "no",
      why: [Buffer.from([1, 2, 3])],
    });
  });

  it("passes a stream as it comes, and its cancellation", async () => {
    const take = (request: string) =>
      client.makeServerStreamRequest("/test.v1.Echo/Count", raw, raw, Buffer.from(request));
    const whole: string[] = [];
    for await (const message of take("3")) whole.push(String(message));
    expect(whole).toEqual(["0", "1", "2"]);
    const endless = take("endless");
    endless.on("error", () => undefined);
    await new Promise((resolve) => endless.once("data", resolve));
    endless.cancel();
    await expect.poll(() => received).toEqual(["cancelled"]);
  });

  it("believes nobody without a certificate of the authority, as the callee", async () => {
    const { ca } = tls("auth");
    const anonymous = new Client(proxy.address, credentials.createSsl(ca), {
      "grpc.ssl_target_name_override": internalName("account"),
    });
    const ready = new Promise((resolve) => anonymous.waitForReady(Date.now() + 400, (error) => resolve(!error)));
    await ready;
    client.close();
    client = anonymous;
    expect([status.UNAVAILABLE, status.DEADLINE_EXCEEDED]).toContain((await refusal(say("hello", 400))).code);
    expect(received).toEqual([]);
  });

  it.each([
    ["unavailable", status.UNAVAILABLE],
    ["reset", status.INTERNAL],
  ] as const)("loses an answer that was given, and a request (%s)", async (as, code) => {
    const answer = proxy.inject({ rpc: SAY, fault: { kind: "lose-answer", as } });
    expect((await refusal(say("work"))).code).toBe(code);
    expect(received).toEqual(["work"]);
    expect(answer.strikes[0]?.call.request.toString()).toBe("work");
    expect(answer.strikes[0]?.answers.map(({ response }) => response.toString())).toEqual(["work 1"]);
    const request = proxy.inject({ rpc: SAY, fault: { kind: "lose-request", as }, times: 2 });
    for (const text of ["one", "two"]) expect((await refusal(say(text))).code).toBe(code);
    expect(received).toEqual(["work"]);
    expect(request.strikes).toHaveLength(2);
    expect((await say("three")).answer).toBe("three 2");
  });

  it.each([
    ["first", "twice 1"],
    ["second", "twice 2"],
  ] as const)("sends a request twice and gives the %s answer", async (answer, expected) => {
    const armed = proxy.inject({ rpc: SAY, fault: { kind: "duplicate", answer, gapMs: 20 } });
    expect((await say("twice")).answer).toBe(expected);
    await expect.poll(() => armed.strikes.length).toBe(1);
    expect(armed.strikes[0]?.answers.map(({ status: code }) => code)).toEqual([0, 0]);
    expect(received).toEqual(["twice", "twice"]);
  });

  it("a late copy does not hold up the first answer", async () => {
    const armed = proxy.inject({ rpc: SAY, fault: { kind: "duplicate", answer: "first", gapMs: 150 } });
    await say("one");
    await say("two");
    expect(received).toEqual(["one", "two"]);
    await expect.poll(() => armed.strikes.length).toBe(1);
    expect(received).toEqual(["one", "two", "one"]);
  });

  it("delays requests and answers; a caller that went away changes nothing for the callee", async () => {
    proxy.inject({ rpc: SAY, fault: { kind: "delay-answer", ms: 60 } });
    const started = performance.now();
    await say("slow");
    expect(performance.now() - started).toBeGreaterThanOrEqual(59);
    const armed = proxy.inject({ rpc: SAY, fault: { kind: "delay-request", ms: 100 } });
    expect((await refusal(say("late", 30))).code).toBe(status.DEADLINE_EXCEEDED);
    await expect.poll(() => armed.strikes.length).toBe(1);
    expect(received).toEqual(["slow", "late"]);
  });

  it("lets a later call overtake an earlier one", async () => {
    proxy.inject({ rpc: SAY, fault: { kind: "reorder", atMostMs: 2_000 } });
    const first = say("first");
    await expect.poll(() => proxy.counts.get(SAY)).toBe(1);
    await Promise.all([first, say("second")]);
    expect(received).toEqual(["second", "first"]);
  });

  it("strikes only the calls that match, until it is disarmed", async () => {
    const matches = ({ request, headers }: { request: Buffer; headers: Readonly<Record<string, unknown>> }) =>
      request.toString() === "victim" && headers["asked-by"] === "somebody";
    const armed = proxy.inject({ rpc: SAY, fault: { kind: "lose-request", as: "reset" }, times: 9, matches });
    expect((await say("bystander")).answer).toBe("bystander 1");
    await refusal(say("victim"));
    expect(armed.taken).toBe(1);
    const other = proxy.inject({ rpc: SAY, fault: { kind: "lose-request", as: "reset" } });
    for (let i = 0; i < 2; i++) armed.disarm();
    await refusal(say("victim"));
    expect(other.taken).toBe(1);
    expect((await say("victim")).answer).toBe("victim 2");
  });

  it("severs the connections: what is on its way is lost, and the next call finds the way again", async () => {
    proxy.inject({ rpc: SAY, fault: { kind: "delay-answer", ms: 5_000 } });
    const lost = refusal(say("lost"));
    await expect.poll(() => received).toEqual(["lost"]);
    proxy.sever();
    expect((await lost).code).toBe(status.UNAVAILABLE);
    expect((await say("found")).answer).toBe("found 2");
  });

  it("has struck a call inside of a stream also where the stream breaks before its answer", async () => {
    const armed = proxy.inject({ rpc: SAY, fault: { kind: "lose-answer", as: "reset" } });
    const together = client.makeBidiStreamRequest("/rpc.v1.Calls/Stream", raw, raw);
    together.on("error", () => undefined).on("data", () => undefined);
    const call = { id: 1, method: SAY, request: Buffer.from("lost") };
    together.write(Buffer.from(StreamRequest.encode(StreamRequest.fromPartial({ calls: [call] })).finish()));
    await expect.poll(() => armed.taken).toBe(1);
    expect(armed.strikes).toHaveLength(0);
    together.cancel();
    await expect.poll(() => armed.strikes.map(({ answers }) => answers)).toEqual([[]]);
  });

  it("answers UNAVAILABLE where the callee is away", async () => {
    const away = await startRpcProxy({
      target: "127.0.0.1:1",
      serverName: internalName("account"),
      callee: tls("account"),
      caller: tls("auth"),
    });
    const real = proxy;
    client.close();
    proxy = away;
    client = dial();
    proxy = real;
    expect((await refusal(say("anybody?"))).code).toBe(status.UNAVAILABLE);
    await away.close();
  });
});
