import {
  AppError,
  type GrpcCodeName,
  insufficientScope,
  isAppError,
  isUuid,
  type Logger,
  newTrace,
  parseTraceParent,
  REASONS,
  type Reason,
  type Span,
  startSpan,
  type TraceParent,
  toAppError,
  type VerifiedToken,
} from "@countersign/core";
import type { AuthContext } from "@grpc/grpc-js/build/src/auth-context.js";
import { logCall } from "./call-line.ts";
import { ADMIN, callerOf, namesForLog, personOf } from "./caller.ts";
import { callerWentAway } from "./cancellation.ts";
import type { CallContext } from "./context.ts";
import { bearerFrom, clientIpFrom, REQUEST_ID, requestIdFrom, singleValue, TRACEPARENT } from "./metadata.ts";
import type { PeerRule } from "./peers.ts";
import type { RunningCall, ServerRuntime } from "./server-options.ts";
import { requireStorable } from "./storable.ts";

const DEFAULT_DEADLINE_MS = 3_000;
/** Milliseconds between two checks of a stream's caller and token. */
const CHECK_MS = 1_000;

/** The parts of a call that are needed here, whether it came alone or on a shared stream. */
export interface IncomingCall {
  metadata: { get(key: string): (string | Buffer)[] };
  getAuthContext(): AuthContext;
  getDeadline(): Date | number;
  on(event: "cancelled", listener: () => void): unknown;
  off(event: "cancelled", listener: () => void): unknown;
}

function deadlineOf(call: IncomingCall, limitMs: number | undefined): Date | undefined {
  const given = call.getDeadline();
  const theirs = given instanceof Date ? given.getTime() : given;
  const ours = limitMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + limitMs;
  const earliest = Math.min(theirs, ours);
  return Number.isFinite(earliest) ? new Date(earliest) : undefined;
}

/** Returns the accounts that a request of one of our services names: never a text of another form. */
function accountsIn(request: unknown): string | readonly string[] | undefined {
  const { accountId, accountIds } = request as { accountId?: unknown; accountIds?: unknown };
  if (Array.isArray(accountIds)) return accountIds.filter((each) => typeof each === "string" && isUuid(each));
  return typeof accountId === "string" && isUuid(accountId) ? accountId : undefined;
}

const stopLate = (call: ServerCall): void => call.stopWith(new AppError("DeadlineExceeded"));

/**
 * An RPC that has begun: its deadline runs, its caller may cancel it, and stopping the server ends it. It is
 * not checked yet: `authorize` does that.
 *
 * A class: V8 makes functions that are written as members of an object literal in the old generation of its
 * heap, and each would keep its call and all that this refers to alive until the whole heap is marked.
 */
export class ServerCall implements RunningCall {
  id = 0;
  readonly #runtime: ServerRuntime;
  readonly #rpc: string;
  readonly #call: IncomingCall;
  readonly #kind: { stream: boolean; quiet?: boolean };
  readonly #started = performance.now();
  readonly #requestId: string;
  readonly #span: Span | undefined;
  readonly #trace: TraceParent;
  readonly #deadline: Date | undefined;
  readonly #abort = new AbortController();
  #reject: ((error: AppError) => void) | undefined;
  readonly #onCancelled = () => this.#cancel();
  #caller: string | undefined;
  #ownLogger: Logger | undefined;
  #timer: NodeJS.Timeout | undefined;
  #checkTimer: NodeJS.Timeout | undefined;
  #ended = false;
  #context: Context | undefined;
  #accounts: string | readonly string[] | undefined;

  constructor(runtime: ServerRuntime, rpc: string, call: IncomingCall, kind: { stream: boolean; quiet?: boolean }) {
    this.#runtime = runtime;
    this.#rpc = rpc;
    this.#call = call;
    this.#kind = kind;
    const { options, runningCalls } = runtime;
    this.#requestId = requestIdFrom(singleValue(call.metadata, REQUEST_ID));
    const parent = parseTraceParent(singleValue(call.metadata, TRACEPARENT));
    // Streams last for hours, and health checks are of no request: they have no span.
    this.#span = kind.stream || kind.quiet ? undefined : startSpan(rpc, { kind: "server", parent });
    this.#trace = this.#span?.trace ?? newTrace(parent);
    const limitMs = kind.stream ? undefined : (options.deadlines?.[rpc] ?? options.deadlineMs ?? DEFAULT_DEADLINE_MS);
    this.#deadline = deadlineOf(call, limitMs);
    call.on("cancelled", this.#onCancelled);
    runningCalls.add(this);
    // setTimeout takes at most 2^31 - 1 milliseconds.
    if (this.#deadline !== undefined) {
      const left = Math.min(Math.max(this.#deadline.getTime() - Date.now(), 0), 2 ** 31 - 1);
      this.#timer = setTimeout(stopLate, left, this);
    }
  }

  stop(): void {
    this.stopWith(new AppError("Unavailable"));
  }

  stopWith(error: AppError): void {
    this.#abort.abort(error);
    this.#reject?.(error);
  }

  #cancel(): void {
    const late = this.#deadline !== undefined && Date.now() >= this.#deadline.getTime();
    this.stopWith(late ? new AppError("DeadlineExceeded") : callerWentAway());
  }

  /** Created when first used: most calls log nothing. */
  get logger(): Logger {
    const { traceId } = this.#trace;
    const fields = { requestId: this.#requestId, traceId, rpc: this.#rpc, caller: this.#caller };
    this.#ownLogger ??= this.#runtime.options.logger.child(fields);
    return this.#ownLogger;
  }

  #verify(rule: PeerRule, raw: string): VerifiedToken {
    const { tokenVerifier } = this.#runtime.options;
    if (tokenVerifier === undefined) throw new Error(`${this.#rpc} has no token verifier`);
    const token = tokenVerifier.verify(raw);
    if (!rule.scopes.has(token.scope)) throw insufficientScope([...rule.scopes], token.scope);
    return token;
  }

  #addOptionalToken(context: CallContext, rule: PeerRule, raw: string | null): void {
    try {
      if (raw === null) throw new AppError("InvalidAccessToken");
      context.token = this.#verify(rule, raw);
      context.rawToken = raw;
    } catch (error) {
      if (!isAppError(error)) throw error;
      context.tokenRefusal = error.reason;
    }
  }

  /** Returns the row of an RPC that the caller may call. Errors: CallerNotAllowed. */
  #ruleFor(rpc: string): PeerRule {
    const rule = this.#runtime.peers.current().rule(rpc);
    if (this.#caller === undefined || !rule?.callers.has(this.#caller)) throw new AppError("CallerNotAllowed");
    return rule;
  }

  /** Returns the caller and its row of the caller table. Errors: CallerNotAllowed. */
  #requireCaller(auth: AuthContext): { caller: string; rule: PeerRule } {
    this.#caller = callerOf(auth, this.#runtime.peers.current());
    const rule = this.#ruleFor(this.#rpc);
    return { caller: this.#caller!, rule };
  }

  /** See CallContext. The stream's caller is checked every second. */
  tokenFor(rpc: string, raw: string): VerifiedToken {
    return this.#verify(this.#ruleFor(rpc), raw);
  }

  /**
   * A stream outlives its first check: the end of the session, the end or revocation of the certificate, and
   * the end of the caller's rights must end it too.
   */
  #check(auth: AuthContext, raw: string | undefined): void {
    try {
      const { rule } = this.#requireCaller(auth);
      if (raw !== undefined) this.#verify(rule, raw);
      else if (rule.token === "user" || rule.token === "ephemeral") throw new AppError("Unauthenticated");
    } catch (error) {
      this.stopWith(toAppError(error));
    }
  }

  /** Takes the accounts that the request names, for the call's line. Errors: InvalidRequest. */
  about(request: unknown): void {
    this.#accounts = accountsIn(request);
    requireStorable(request);
  }

  /**
   * Runs the handler of a unary call within the span of the call. Rejects when the caller is gone or the
   * deadline has passed, although the handler goes on.
   */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#abort.signal.throwIfAborted();
      this.#reject = reject;
      const answer = this.#span === undefined ? work() : this.#span.run(work);
      answer.then(resolve, reject);
    });
  }

  /**
   * Checks the caller, its row of the caller table, and the token. Returns the context for the handler.
   * Errors: CallerNotAllowed, Unauthenticated, InvalidAccessToken, ….
   */
  authorize(): CallContext {
    const auth = this.#call.getAuthContext();
    const { caller, rule } = this.#requireCaller(auth);
    const context = new Context(this, caller, this.#requestId, this.#trace, this.#abort.signal);
    this.#context = context;
    if (this.#deadline !== undefined) context.deadline = this.#deadline;
    if (this.#kind.stream) context.draining = this.#runtime.draining;
    if (caller === ADMIN) {
      const person = personOf(auth);
      if (person === undefined) throw new AppError("CallerNotAllowed");
      context.person = person;
    }
    const { metadata } = this.#call;
    const clientIp = caller === "gateway" ? clientIpFrom(metadata) : undefined;
    if (clientIp !== undefined) context.clientIp = clientIp;
    const raw = rule.token === "service" ? undefined : bearerFrom(metadata);
    if (rule.token === "optional") {
      if (raw !== undefined) this.#addOptionalToken(context, rule, raw);
    } else if (rule.token !== "service") {
      if (raw === null) throw new AppError("InvalidAccessToken");
      if (raw === undefined) throw new AppError("Unauthenticated");
      context.token = this.#verify(rule, raw);
      context.rawToken = raw;
    }
    if (this.#kind.stream) this.#checkTimer = setInterval(() => this.#check(auth, context.rawToken), CHECK_MS);
    return context;
  }

  /** Ends the call with a thrown error's code, and returns its AppError; the call's line has its cause. */
  fail(error: unknown): AppError {
    const appError = toAppError(error);
    // Converted: an unknown error, or a lost connection to Postgres, which `toAppError` recognized.
    this.end(appError, appError === error ? undefined : appError.cause);
    return appError;
  }

  /** Counts and logs the call, with OK where there is no error; does nothing the second time. */
  end(error?: AppError, cause?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    clearInterval(this.#checkTimer);
    const { options, runningCalls } = this.#runtime;
    runningCalls.take(this.id);
    this.#call.off("cancelled", this.#onCancelled);
    // Stops work that the handler left running: its result has no recipient.
    if (error !== undefined) this.#abort.abort(error);
    const code: GrpcCodeName = error === undefined ? "OK" : REASONS[error.reason].grpc;
    const attributes = { "rpc.system": "grpc", "rpc.response.status_code": code };
    this.#span?.end({ error: error?.reason, attributes });
    const milliseconds = performance.now() - this.#started;
    const labels = { method: this.#rpc, code };
    if (this.#kind.stream) options.metrics.rpcServerStreams.inc(labels);
    else options.metrics.rpcServer.observe(labels, milliseconds / 1000);
    if (this.#kind.quiet) return;
    const fields = {
      requestId: this.#requestId,
      traceId: this.#trace.traceId,
      rpc: this.#rpc,
      caller: this.#caller ?? namesForLog(this.#call.getAuthContext()),
      accountId: this.#context?.accountId ?? this.#context?.token?.accountId ?? this.#accounts,
      durationMs: milliseconds,
    };
    logCall(options.logger, fields, error, cause);
  }
}

class Context implements CallContext {
  readonly caller: string;
  readonly requestId: string;
  readonly trace: TraceParent;
  readonly signal: AbortSignal;
  readonly #call: ServerCall;
  accountId?: string;
  person?: string;
  token?: VerifiedToken;
  rawToken?: string;
  tokenRefusal?: Reason;
  clientIp?: string;
  draining?: AbortSignal;
  deadline?: Date;

  constructor(call: ServerCall, caller: string, requestId: string, trace: TraceParent, signal: AbortSignal) {
    this.#call = call;
    this.caller = caller;
    this.requestId = requestId;
    this.trace = trace;
    this.signal = signal;
  }

  get logger(): Logger {
    return this.#call.logger;
  }

  tokenFor(rpc: string, raw: string): VerifiedToken {
    return this.#call.tokenFor(rpc, raw);
  }
}
