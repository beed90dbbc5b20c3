import {
  AppError,
  type GrpcCodeName,
  insufficientScope,
  isAppError,
  newTrace,
  parseTraceParent,
  REASONS,
  startSpan,
  toAppError,
} from "@countersign/core";
import type { AuthContext } from "@grpc/grpc-js/build/src/auth-context.js";
import { callerOf } from "./caller.ts";
import type { CallContext } from "./context.ts";
import { bearerFrom, clientIpFrom, REQUEST_ID, requestIdFrom, singleValue, TRACEPARENT } from "./metadata.ts";
import type { PeerRule } from "./peers.ts";
import type { RunningCall, ServerRuntime } from "./server-options.ts";

const DEFAULT_DEADLINE_MS = 3_000;
const TOKEN_CHECK_MS = 1_000;

/** The parts of a call that are needed here, whether it came alone or on a shared stream. */
export interface IncomingCall {
  metadata: { get(key: string): (string | Buffer)[] };
  getAuthContext(): AuthContext;
  getDeadline(): Date | number;
  on(event: "cancelled", listener: () => void): unknown;
  off(event: "cancelled", listener: () => void): unknown;
}

export interface ServerCallState {
  /**
   * Checks the caller, its row of the caller table, and the token. Returns the context for the handler.
   * Errors: CallerNotAllowed, Unauthenticated, InvalidAccessToken, ….
   */
  authorize(): Promise<CallContext>;
  /** Runs the handler within the span of the call. */
  run<T>(work: () => T): T;
  /** Rejects when the caller is gone, the deadline has passed, or a stream's token is no longer valid. */
  aborted: Promise<never>;
  /** Returns the AppError of a thrown error; logs the causes of unknown errors. */
  fail(error: unknown): AppError;
  /** Counts and logs the call; does nothing the second time. */
  end(code: GrpcCodeName, error?: AppError): void;
  /** Ends the call with the code of this error. */
  endWith(error: AppError): void;
}

function deadlineOf(call: IncomingCall, limitMs: number | undefined): Date | undefined {
  const given = call.getDeadline();
  const theirs = given instanceof Date ? given.getTime() : given;
  const ours = limitMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + limitMs;
  const earliest = Math.min(theirs, ours);
  return Number.isFinite(earliest) ? new Date(earliest) : undefined;
}

/**
 * Begins every RPC: its deadline runs, its caller may cancel it, and stopping the server ends it. It is not
 * checked yet: `authorize` does that.
 */
export function beginCall(
  runtime: ServerRuntime,
  rpc: string,
  call: IncomingCall,
  kind: { stream: boolean; quiet?: boolean },
): ServerCallState {
  const { options, runningCalls } = runtime;
  const { metadata } = call;
  const started = performance.now();
  const requestId = requestIdFrom(singleValue(metadata, REQUEST_ID));
  const parent = parseTraceParent(singleValue(metadata, TRACEPARENT));
  // Streams last for hours, and health checks are of no request: they have no span.
  const span = kind.stream || kind.quiet ? undefined : startSpan(rpc, { kind: "server", parent });
  const trace = span?.trace ?? newTrace(parent);
  const limitMs = kind.stream ? undefined : (options.deadlines?.[rpc] ?? options.deadlineMs ?? DEFAULT_DEADLINE_MS);
  const deadline = deadlineOf(call, limitMs);
  const abort = new AbortController();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  // It may reject while nothing waits for it.
  aborted.catch(() => undefined);
  let caller: string | undefined;
  const logger = () => options.logger.child({ requestId, traceId: trace.traceId, rpc, caller });
  let timer: NodeJS.Timeout | undefined;
  let tokenTimer: NodeJS.Timeout | undefined;
  let ended = false;

  const stop = (error: AppError) => {
    reject(error);
    abort.abort(error);
  };
  const running: RunningCall = { id: 0, stop: () => stop(new AppError("Unavailable")) };
  const onCancelled = () => {
    const late = deadline !== undefined && Date.now() >= deadline.getTime();
    stop(
      new AppError(late ? "DeadlineExceeded" : "Unavailable", { detail: late ? undefined : "The caller went away" }),
    );
  };
  call.on("cancelled", onCancelled);
  runningCalls.add(running);
  // setTimeout takes at most 2^31 - 1 milliseconds.
  if (deadline !== undefined) {
    const left = Math.min(Math.max(deadline.getTime() - Date.now(), 0), 2 ** 31 - 1);
    timer = setTimeout(() => stop(new AppError("DeadlineExceeded")), left);
  }

  const verify = (rule: PeerRule, raw: string) => {
    if (options.tokenVerifier === undefined) throw new Error(`${rpc} has no token verifier`);
    const token = options.tokenVerifier.verify(raw);
    if (!rule.scopes.has(token.scope)) throw insufficientScope([...rule.scopes], token.scope);
    return token;
  };
  const addOptionalToken = (context: CallContext, rule: PeerRule, raw: string | null) => {
    try {
      if (raw === null) throw new AppError("InvalidAccessToken");
      context.token = verify(rule, raw);
      context.rawToken = raw;
    } catch (error) {
      if (!isAppError(error)) throw error;
      context.tokenRefusal = error.reason;
    }
    return context;
  };

  return {
    aborted,
    run: (work) => (span === undefined ? work() : span.run(work)),
    async authorize() {
      caller = callerOf(call.getAuthContext(), options.peers.names);
      const rule = options.peers.rule(rpc);
      if (caller === undefined || rule === undefined || !rule.callers.has(caller))
        throw new AppError("CallerNotAllowed");
      const context: CallContext = {
        caller,
        requestId,
        trace,
        signal: abort.signal,
        logger: logger(),
      };
      if (deadline !== undefined) context.deadline = deadline;
      if (kind.stream) context.draining = runtime.draining;
      const clientIp = caller === "gateway" ? clientIpFrom(metadata) : undefined;
      if (clientIp !== undefined) context.clientIp = clientIp;
      if (rule.token === "service") return context;
      const raw = bearerFrom(metadata);
      if (rule.token === "optional") return raw === undefined ? context : addOptionalToken(context, rule, raw);
      if (raw === null) throw new AppError("InvalidAccessToken");
      if (raw === undefined) throw new AppError("Unauthenticated");
      context.token = verify(rule, raw);
      context.rawToken = raw;
      // A stream outlives the check of its token: the end of the session must end it too.
      if (kind.stream) {
        tokenTimer = setInterval(() => {
          try {
            verify(rule, raw);
          } catch (error) {
            stop(toAppError(error));
          }
        }, TOKEN_CHECK_MS);
      }
      return context;
    },
    fail(error) {
      const appError = toAppError(error);
      if (appError.reason === "Internal") logger().error({ err: appError.cause ?? appError }, "call failed");
      // Converted, and not to Internal: `toAppError` recognized a lost connection.
      else if (appError !== error) logger().warn({ err: appError.cause }, "call failed: connection to Postgres lost");
      return appError;
    },
    end(code, error) {
      if (ended) return;
      ended = true;
      clearTimeout(timer);
      clearInterval(tokenTimer);
      runningCalls.take(running.id);
      call.off("cancelled", onCancelled);
      // Stops work that the handler left running: its result has no recipient.
      if (error !== undefined) abort.abort(error);
      span?.end({ error: error?.reason, attributes: { "rpc.system": "grpc", "rpc.response.status_code": code } });
      const milliseconds = performance.now() - started;
      options.metrics.rpcServer.observe({ method: rpc, code }, milliseconds / 1000);
      if (kind.quiet) return;
      const line = { code, reason: error?.reason, durationMs: Math.round(milliseconds * 10) / 10 };
      if (error !== undefined) logger().info(line, "call refused");
      else if (options.logger.isLevelEnabled("debug")) logger().debug(line, "call answered");
    },
    endWith(error) {
      this.end(REASONS[error.reason].grpc, error);
    },
  };
}
