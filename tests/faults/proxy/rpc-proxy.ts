import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { TlsMaterial } from "@countersign/core";
import { type Batches, batchesOf, messageReader } from "./rpc-batches.ts";
import type { ArmedFault, FaultRule, ProxiedAnswer, ProxiedCall, RpcFault, Strike } from "./rpc-fault.ts";
import { type Collected, give, lose, pipe, type Taps } from "./rpc-streams.ts";

const UNKNOWN = 2;
const FRAME_BYTES = 5;

export interface RpcProxyOptions {
  /** host:port of the callee. */
  target: string;
  /** The name that TLS checks in the callee's certificate. */
  serverName: string;
  /** The callee's certificate: the proxy shows it to the caller. */
  callee: TlsMaterial;
  /** The caller's certificate: the proxy shows it to the callee. */
  caller: TlsMaterial;
}

export interface RpcProxy {
  /** host:port to dial instead of the target. */
  readonly address: string;
  /** Calls by "package.Service/Method" since the start or the last reset, calls on streams included. */
  readonly counts: ReadonlyMap<string, number>;
  resetCounts(): void;
  /** Arms a fault; of several that match a call the first armed strikes. */
  inject(rule: FaultRule): ArmedFault;
  /** Cuts the connections to caller and callee and loses the bytes in flight; accepts new connections. */
  sever(): void;
  close(): Promise<void>;
}

interface Rule extends FaultRule {
  left: number;
  taken: number;
  strikes: Strike[];
}

const rpcOf = (headers: IncomingHttpHeaders): string => String(headers[":path"]).slice(1);

const answerOf = ({ headers, body, trailers }: Collected): ProxiedAnswer => ({
  status: Number(trailers?.["grpc-status"] ?? headers["grpc-status"] ?? UNKNOWN),
  response: body.subarray(FRAME_BYTES),
});

/** Returns a caller's HTTP/2 headers as a request of our own. */
function onward(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const { ":scheme": _scheme, ...rest } = headers;
  return { ":scheme": "https", ...rest };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Reads a stream to its end. */
async function readAll(stream: ServerHttp2Stream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/**
 * Terminates the caller's mutual TLS with the callee's certificate and dials the callee with the caller's, so
 * that neither notices the proxy. Streams pass unchanged, with trailers and resets; faults hit unary calls,
 * also those that share a stream.
 */
export async function startRpcProxy(options: RpcProxyOptions): Promise<RpcProxy> {
  const { callee, caller, target, serverName } = options;
  const counts = new Map<string, number>();
  const rules: Rule[] = [];
  const waiting = new Set<{ rpc: string; go(): void }>();
  const sessions = new Set<ServerHttp2Session>();
  let upstream: ClientHttp2Session | undefined;

  const toCallee = (): ClientHttp2Session => {
    if (upstream && !upstream.destroyed && !upstream.closed) return upstream;
    const made = connect(`https://${target}`, { ...caller, servername: serverName });
    upstream = made;
    // A callee that is away shows in each stream; a session alone must not end the test's process.
    made.on("error", () => undefined);
    made.on("goaway", () => {
      if (upstream === made) upstream = undefined;
    });
    return made;
  };

  const send = (headers: IncomingHttpHeaders, body: Buffer): Promise<Collected> =>
    new Promise((resolve) => {
      const stream = toCallee().request(onward(headers));
      const collected: Collected = { headers: {}, body: Buffer.alloc(0), trailers: undefined, reset: undefined };
      const chunks: Buffer[] = [];
      stream.on("response", (answer) => {
        collected.headers = answer;
      });
      stream.on("trailers", (trailers) => {
        collected.trailers = trailers;
      });
      stream.on("data", (chunk) => chunks.push(chunk));
      stream.on("error", () => undefined);
      stream.on("close", () => {
        collected.body = Buffer.concat(chunks);
        const answered = collected.trailers ?? collected.headers["grpc-status"];
        if (answered === undefined) collected.reset = stream.rstCode || constants.NGHTTP2_INTERNAL_ERROR;
        resolve(collected);
      });
      stream.end(body);
    });

  const run = async (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    body: Buffer,
    fault: RpcFault,
  ): Promise<Collected[]> => {
    const rpc = rpcOf(headers);
    switch (fault.kind) {
      case "lose-request":
        lose(stream, fault.as);
        return [];
      case "lose-answer": {
        const lost = await send(headers, body);
        lose(stream, fault.as);
        return [lost];
      }
      case "duplicate": {
        const first = send(headers, body);
        const second = fault.gapMs ? pause(fault.gapMs).then(() => send(headers, body)) : send(headers, body);
        give(stream, await (fault.answer === "first" ? first : second));
        return Promise.all([first, second]);
      }
      case "delay-request":
        await pause(fault.ms);
        break;
      case "reorder":
        await overtaken(rpc, fault.atMostMs);
        break;
    }
    const answer = await send(headers, body);
    if (fault.kind === "delay-answer") await pause(fault.ms);
    give(stream, answer);
    return [answer];
  };

  /** Resolves when another call of this RPC has been answered. */
  const overtaken = (rpc: string, atMostMs: number) =>
    new Promise<void>((resolve) => {
      const entry = { rpc, go: resolve };
      waiting.add(entry);
      setTimeout(resolve, atMostMs).unref();
    });
  const release = (rpc: string) => {
    for (const entry of waiting) {
      if (entry.rpc !== rpc) continue;
      waiting.delete(entry);
      entry.go();
    }
  };

  const ruleFor = (call: ProxiedCall): Rule | undefined =>
    [...rules].find(({ rpc, left, matches }) => rpc === call.rpc && left > 0 && (matches?.(call) ?? true));

  const take = (call: ProxiedCall): Rule | undefined => {
    const rule = ruleFor(call);
    if (rule) rule.left -= 1;
    if (rule) rule.taken += 1;
    return rule;
  };

  /** Strikes calls inside of a stream: what is lost, is lost with the stream and all that is on it. */
  const batchTaps = (batches: Batches): Taps => {
    const readRequests = messageReader();
    const readAnswers = messageReader();
    const doomed = new Map<number, { rule: Rule; call: ProxiedCall }>();
    return {
      request: (chunk) => {
        let whole = true;
        for (const { id, call } of readRequests(chunk).flatMap(batches.calls)) {
          counted(call.rpc);
          const rule = take(call);
          if (rule?.fault.kind === "lose-answer") doomed.set(id, { rule, call });
          else if (rule?.fault.kind === "lose-request") {
            rule.strikes.push({ call, answers: [] });
            whole = false;
          } else if (rule) throw new Error(`${rule.fault.kind} cannot strike a call inside of a stream`);
        }
        return whole;
      },
      answer: (chunk) => {
        let whole = true;
        for (const { id, answer } of readAnswers(chunk).flatMap(batches.answers)) {
          const lost = doomed.get(id);
          if (!lost) continue;
          lost.rule.strikes.push({ call: lost.call, answers: [answer] });
          doomed.delete(id);
          whole = false;
        }
        return whole;
      },
      over: () => {
        // The stream broke for another reason: the answer is lost as well, but was not seen.
        for (const { rule, call } of doomed.values()) rule.strikes.push({ call, answers: [] });
        doomed.clear();
      },
    };
  };

  const counted = (rpc: string) => counts.set(rpc, (counts.get(rpc) ?? 0) + 1);

  const handle = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    const rpc = rpcOf(headers);
    stream.on("error", () => undefined);
    const batches = batchesOf(rpc);
    if (batches) return pipe(stream, toCallee().request(onward(headers)), batchTaps(batches));
    counted(rpc);
    stream.on("close", () => release(rpc));
    if (!rules.some((rule) => rule.rpc === rpc && rule.left > 0))
      return pipe(stream, toCallee().request(onward(headers)));
    const body = await readAll(stream);
    const call = { rpc, headers, request: body.subarray(FRAME_BYTES) };
    const rule = take(call);
    if (!rule) return give(stream, await send(headers, body));
    const answers = await run(stream, headers, body, rule.fault);
    rule.strikes.push({ call, answers: answers.map(answerOf) });
  };

  const sever = () => {
    for (const session of sessions) session.destroy();
    upstream?.destroy();
  };

  const server = createSecureServer({ ...callee, requestCert: true, rejectUnauthorized: true });
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => undefined);
    session.on("close", () => sessions.delete(session));
  });
  server.on("sessionError", () => undefined);
  server.on("stream", (stream, headers) => {
    handle(stream, headers).catch(() => stream.close(constants.NGHTTP2_INTERNAL_ERROR));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    resetCounts: () => counts.clear(),
    inject(rule) {
      const armed: Rule = { ...rule, left: rule.times ?? 1, taken: 0, strikes: [] };
      rules.push(armed);
      return {
        strikes: armed.strikes,
        get taken() {
          return armed.taken;
        },
        disarm: () => {
          armed.left = 0;
          const at = rules.indexOf(armed);
          if (at >= 0) rules.splice(at, 1);
        },
      };
    },
    sever,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        sever();
      }),
  };
}
