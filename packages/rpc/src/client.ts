import type { Writable } from "node:stream";
import {
  type AppError,
  activeTrace,
  asWatched,
  backoffMs,
  createCaRemoval,
  formatTraceParent,
  inSpan,
  internalName,
  newTrace,
  parseTraceParent,
  RETRY_ATTEMPTS,
  sleepUntil,
  type TlsMaterial,
  type TraceParent,
  type Watched,
  withFaultPoints,
} from "@countersign/core";
import { CallsService, type StreamResponse } from "@countersign/proto/rpc/v1/calls.ts";
import { Client, type ClientUnaryCall, experimental, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import type { Prepared, RpcCallOptions } from "./call-options.ts";
import { createCallsClient } from "./calls-client.ts";
import { callerWentAway, isAnyAborted } from "./cancellation.ts";
import { certificateProvider } from "./certificate-provider.ts";
import { type Connections, createConnections } from "./connections.ts";
import { type AnyMethod, type InputOf, type OutputOf, rpcName, type ServiceDefinition } from "./definition.ts";
import { decodeError, grpcCodeOf } from "./errors.ts";
import { MAX_MESSAGE_BYTES } from "./message-size.ts";
import { AUTHORIZATION, CLIENT_IP, REQUEST_ID, requestIdFrom, TRACEPARENT } from "./metadata.ts";
import type { RpcMetrics } from "./rpc-metrics.ts";
import { feed } from "./streams.ts";

export interface RpcClientOptions {
  /**
   * "host:port" or "ip:port,ip:port"; calls are spread over several addresses, also over those of one name.
   */
  address: string;
  /** May change: calls then move to new connections, other streams within two minutes (connections.ts). */
  tls: TlsMaterial | Watched<TlsMaterial>;
  /**
   * The name in the server's certificate: "auth" means auth.countersign.internal; a name with a dot is used
   * unchanged.
   */
  serverName: string;
  /** Milliseconds that a call may take by default. */
  deadlineMs: number;
  metrics?: RpcMetrics | undefined;
  /**
   * Sends unary calls over one stream (rpc.v1.Calls), those of one turn of the event loop in one message.
   * Default: false.
   */
  coalesce?: boolean;
  /** For streams that are silent for long: pings find a server that is gone without a word. */
  pings?: boolean;
  /** Milliseconds after which connections are replaced by new ones. Default 20000. */
  replaceConnectionsAfterMs?: number;
}

export type ClientMethod<M> = (input: InputOf<M>, options?: RpcCallOptions) => OutputOf<M>;

/**
 * Methods by ts-proto's lower-camel names: promises for unary RPCs, async iterables for streams. Errors of
 * calls are AppErrors. RPCs with a stream of requests and one answer are not supported: their methods always
 * reject.
 */
export type RpcClient<D extends ServiceDefinition> = { [K in keyof D]: ClientMethod<D[K]> };

/** A client with a channel of its own. */
export type SoleRpcClient<D extends ServiceDefinition> = RpcClient<D> & { close(): void };

/** A connection to each replica of a callee, which the clients of all its services share. */
export interface RpcChannel {
  /** Creates a client of one of the callee's services. Streams have no deadline except that of their call. */
  client<D extends ServiceDefinition>(definition: D, deadlineMs?: number): RpcClient<D>;
  /** Calls `listener` each time that calls begin to go to connections with new certificates. */
  onRenewed(listener: () => void): void;
  close(): void;
}

/** Creates a channel with one client, which closes it. */
export function createRpcClient<D extends ServiceDefinition>(
  definition: D,
  options: RpcClientOptions,
): SoleRpcClient<D> {
  const { client, close } = createRpcChannel(options);
  return Object.assign(client(definition), { close });
}

/** Creates a channel over mutual TLS. Nothing is dialled before the first call. */
export function createRpcChannel(options: RpcClientOptions): RpcChannel {
  const tls = asWatched(options.tls);
  const name = options.serverName.includes(".") ? options.serverName : internalName(options.serverName);
  const target = options.address.includes(",") ? `ipv4:${options.address}` : `dns:///${options.address}`;
  // grpc.enable_retries keeps its default: without a retry policy grpc-js repeats only what never left the
  // client or what the server refused before any handler saw it, so signing calls as well.
  const provider = certificateProvider(tls);
  const channelCredentials = experimental.createCertificateProviderChannelCredentials(provider, provider);
  const channelOptions = {
    "grpc.ssl_target_name_override": name,
    "grpc.default_authority": name,
    "grpc.service_config": JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    "grpc.service_config_disable_resolution": 1,
    "grpc.dns_min_time_between_resolutions_ms": 5_000,
    // After a server's GOAWAY, grpc-js cannot ping and drops the calls that the server still answers
    // (https://github.com/grpc/grpc-node/issues/3068). Deadlines, and new connections every 20 s, find a dead
    // server; a stream without a deadline, which ends when its server stops, needs pings.
    ...(options.pings ? { "grpc.keepalive_time_ms": 20_000, "grpc.keepalive_timeout_ms": 5_000 } : {}),
    // Short: in a rolling restart the next replica stops soon after this one is back, and a client must
    // always have one that it can reach.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.max_reconnect_backoff_ms": 500,
    "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
    "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
    // With the default of 64 KiB, a message of 1 MiB takes 16 round trips.
    "grpc-node.flow_control_window": MAX_MESSAGE_BYTES,
    "grpc.enable_channelz": 0,
    // Its own channel: a pooled one would be shared with clients that have other certificates.
    "grpc.use_local_subchannel_pool": 1,
  };
  const open = () => new Client(target, channelCredentials, channelOptions);
  const connections = createConnections(open, options.replaceConnectionsAfterMs);
  const removesCa = createCaRemoval(tls.current());
  const endRenewal = tls.onChange((material) => connections.renew(removesCa(material)));
  const callsClient =
    options.coalesce === true
      ? createCallsClient((input, call) => callsStream(connections, options, input, call))
      : undefined;
  // A shared stream would go on for ten seconds with a certificate that may end meanwhile.
  if (callsClient !== undefined) connections.onRenewed(callsClient.renew);
  const send: SendUnary =
    callsClient === undefined ? (...call) => sendAlone(connections, ...call) : (...call) => callsClient.send(...call);
  return {
    client(definition, deadlineMs = options.deadlineMs) {
      const entries = Object.entries(definition);
      const bound = { ...options, deadlineMs };
      const methods = Object.fromEntries(entries.map(([key, method]) => [key, bind(connections, send, method, bound)]));
      // Streams return no promise: `false` gives them no fault points.
      const streams = entries.filter(([, method]) => method.requestStream || method.responseStream);
      const noFaultPoints = Object.fromEntries(streams.map(([key]) => [key, false]));
      return withFaultPoints(options.serverName, methods, noFaultPoints) as RpcClient<typeof definition>;
    },
    onRenewed: connections.onRenewed,
    close() {
      endRenewal();
      callsClient?.close();
      connections.close();
    },
  };
}

const callsStream = (connections: Connections, options: RpcClientOptions, input: unknown, call: RpcCallOptions) =>
  streaming(connections, CallsService.stream, options, input, call) as AsyncGenerator<StreamResponse>;

function bind(connections: Connections, send: SendUnary, method: AnyMethod, options: RpcClientOptions): unknown {
  if (!method.requestStream && !method.responseStream) {
    return (request: unknown, call: RpcCallOptions = {}) => {
      const parent = parentOf(call);
      const work = (trace: TraceParent) => unary(send, method, options, request, call, trace);
      // Calls of jobs, which poll, have no span.
      return parent === undefined ? work(newTrace()) : inSpan(rpcName(method), { kind: "client", parent }, work);
    };
  }
  if (method.requestStream && !method.responseStream) {
    return () => Promise.reject(new Error(`${rpcName(method)}: streams of requests with one answer are not supported`));
  }
  return (input: unknown, call: RpcCallOptions = {}) => streaming(connections, method, options, input, call);
}

/** Makes one attempt of a unary call, as an RPC of its own or on the shared stream. */
type SendUnary = (method: AnyMethod, request: unknown, prepared: Prepared) => Promise<unknown>;

function metadataOf({ requestId, traceparent, token, clientIp }: Prepared, waitForReady = false): Metadata {
  const metadata = new Metadata({ waitForReady });
  metadata.set(REQUEST_ID, requestId);
  metadata.set(TRACEPARENT, traceparent);
  if (token !== undefined) metadata.set(AUTHORIZATION, `Bearer ${token}`);
  if (clientIp !== undefined) metadata.set(CLIENT_IP, clientIp);
  return metadata;
}

/**
 * Returns the work that a call is part of. Without spans in this process it is the request that the call is
 * for.
 */
const parentOf = ({ onBehalfOf, traceparent }: RpcCallOptions): TraceParent | undefined =>
  activeTrace() ?? onBehalfOf?.trace ?? parseTraceParent(traceparent);

function prepare(call: RpcCallOptions, deadlineMs: number | undefined, trace: TraceParent): Prepared {
  const parent = call.onBehalfOf;
  const ours = deadlineMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + deadlineMs;
  const deadline = Math.min(ours, parent?.deadline?.getTime() ?? Number.POSITIVE_INFINITY);
  const signals = [call.signal, parent?.signal].filter((signal) => signal !== undefined);
  return {
    requestId: call.requestId ?? parent?.requestId ?? requestIdFrom(undefined),
    traceparent: formatTraceParent(trace),
    token: call.token ?? parent?.rawToken,
    clientIp: call.clientIp,
    signals,
    deadline,
  };
}

const labelsOf = (method: AnyMethod, code: number) => ({ method: rpcName(method), code: status[code] ?? "UNKNOWN" });

function observe(options: RpcClientOptions, method: AnyMethod, started: number, code: number): void {
  options.metrics?.rpcClient.observe(labelsOf(method, code), (performance.now() - started) / 1000);
}

/**
 * Sends a call, and again after UNAVAILABLE where it is idempotent. grpc-js's own retry policy does not
 * serve: it is for all calls of a method, and most calls are messages on a shared stream.
 */
async function unary(
  send: SendUnary,
  method: AnyMethod,
  options: RpcClientOptions,
  request: unknown,
  call: RpcCallOptions,
  trace: TraceParent,
): Promise<unknown> {
  const prepared = prepare(call, call.deadlineMs ?? options.deadlineMs, trace);
  for (let count = 1; ; count += 1) {
    const started = performance.now();
    try {
      const response = await send(method, request, prepared);
      observe(options, method, started, status.OK);
      return response;
    } catch (sent) {
      observe(options, method, started, grpcCodeOf(sent));
      const error = decodeError(sent);
      const ms = call.idempotent === true ? delayBeforeRetry(error, count, prepared.deadline) : undefined;
      if (ms === undefined || !(await sleepUntil(ms, prepared.signals))) throw error;
    }
  }
}

/** Returns the milliseconds until a call is sent again after an attempt; undefined: its error is final. */
function delayBeforeRetry(error: AppError, count: number, deadline: number): number | undefined {
  if (grpcCodeOf(error) !== status.UNAVAILABLE || count >= RETRY_ATTEMPTS) return undefined;
  const { retryAfterSeconds } = error;
  const ms = retryAfterSeconds === undefined ? backoffMs(count) : retryAfterSeconds * 1_000;
  return Date.now() + ms < deadline ? ms : undefined;
}

function sendAlone(
  connections: Connections,
  method: AnyMethod,
  request: unknown,
  prepared: Prepared,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { signals } = prepared;
    if (isAnyAborted(signals)) return reject(callerWentAway());
    let running: ClientUnaryCall | undefined;
    const cancel = () => running?.cancel();
    const { client, release } = connections.take();
    const done = (error: ServiceError | null, response?: unknown) => {
      release();
      for (const signal of signals) signal.removeEventListener("abort", cancel);
      if (error === null) resolve(response);
      else reject(error);
    };
    for (const signal of signals) signal.addEventListener("abort", cancel, { once: true });
    try {
      running = client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadataOf(prepared),
        { deadline: prepared.deadline },
        done,
      );
    } catch (error) {
      done(error as ServiceError);
    }
  });
}

async function* streaming(
  connections: Connections,
  method: AnyMethod,
  options: RpcClientOptions,
  input: unknown,
  call: RpcCallOptions,
): AsyncGenerator<unknown> {
  // Streams last for hours: they have no span of their own.
  const prepared = prepare(call, call.deadlineMs, newTrace(parentOf(call)));
  const { deadline } = prepared;
  const metadata = metadataOf(prepared, call.waitForReady);
  const { path, requestSerialize, responseDeserialize } = method;
  if (isAnyAborted(prepared.signals)) throw callerWentAway();
  const { client, tooOld, release } = connections.take();
  const signals = [...prepared.signals, tooOld];
  const stream = method.requestStream
    ? client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, { deadline })
    : client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, input, metadata, { deadline });
  const cancel = () => stream.cancel();
  for (const signal of signals) signal.addEventListener("abort", cancel, { once: true });
  // The iteration below reports errors; without its own listener, an early one would end the process.
  stream.on("error", () => undefined);
  if (method.requestStream) void feed(input as AsyncIterable<unknown>, stream as unknown as Writable, cancel);
  let code: number = status.CANCELLED;
  // A rate sees the first end only if the series was there before.
  options.metrics?.rpcClientStreams.inc(labelsOf(method, status.OK), 0);
  try {
    yield* stream;
    code = status.OK;
  } catch (error) {
    code = grpcCodeOf(error);
    throw decodeError(error);
  } finally {
    for (const signal of signals) signal.removeEventListener("abort", cancel);
    stream.cancel();
    release();
    options.metrics?.rpcClientStreams.inc(labelsOf(method, code));
  }
}
