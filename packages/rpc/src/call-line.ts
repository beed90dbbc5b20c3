import { type AppError, type GrpcCodeName, type Logger, REASONS } from "@countersign/core";

export interface CallFields {
  readonly requestId: string;
  readonly traceId: string | undefined;
  /** "auth.v1.SignUp/SignUp". */
  readonly rpc: string;
  /** The name in the caller's certificate; all its names, where none of them is a caller's. */
  readonly caller: string | undefined;
  /** The account, or accounts, that the call is about, where known. */
  readonly accountId: string | readonly string[] | undefined;
  readonly durationMs: number;
}

/** Methods that change nothing: the owner of what they read decides nothing. */
const READ = /\/(Derive|Describe|Explain|Find|Get|List|Prepare|Reconcile|Verify|Watch)/;

/**
 * Writes the one line of a call that has ended. A refusal and a decision about an account are `info`, what
 * was only read is `debug`; a call that failed here is `error`, and `warn` where a lost connection is why.
 * `cause`: what was thrown, where it is not the error itself. See docs/logs.md.
 */
export function logCall(logger: Logger, fields: CallFields, error: AppError | undefined, cause?: unknown): void {
  if (error === undefined) {
    const level = fields.accountId === undefined || READ.test(fields.rpc) ? "debug" : "info";
    if (logger.isLevelEnabled(level))
      logger[level]({ ...lineOf(fields), code: "OK" satisfies GrpcCodeName }, "call answered");
    return;
  }
  const { reason, metadata } = error;
  const line = { ...lineOf(fields), code: REASONS[reason].grpc, reason, rule: metadata.reason };
  if (reason === "Internal") logger.error({ ...line, err: cause ?? error }, "call failed");
  else if (cause !== undefined) logger.warn({ ...line, err: cause }, "call failed");
  else logger.info(line, "call refused");
}

const lineOf = ({ durationMs, ...fields }: CallFields) => ({ ...fields, durationMs: Math.round(durationMs * 10) / 10 });
