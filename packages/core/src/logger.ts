/**
 * The fields that a log line may have: none is a secret, or text that a client chooses. All others are left
 * out, and their names listed under `dropped`. docs/logs.md explains them.
 */
export const LOG_FIELDS = [
  // The line and its process
  ...["name", "component", "err", "event", "file", "job", "status", "from", "to"],
  // The request
  ...["requestId", "traceId", "method", "route", "rpc", "caller", "code", "reason", "rule", "durationMs"],
  // The account and what belongs to it
  ...["accountId", "deviceId", "twoFactorId"],
  // An administrator's command; `why` is the administrator's text
  ...["person", "command", "why"],
  // Events and jobs
  ...["eventId", "endpoint", "result", "subject", "durable", "attempt", "limit"],
  // Chains and signing
  ...["chainName", "transactionId", "blockHeight", "keyIndex", "policyVersion"],
  ...["chainId", "sequence", "lastSequence", "head", "signed"],
  // Servers
  ...["port", "address"],
] as const;

export type LogFields = { readonly [Name in (typeof LOG_FIELDS)[number]]?: unknown };

/** Writes one structured line: fields, if any, and then a fixed message. */
interface Write {
  (message: string): void;
  (fields: LogFields, message: string): void;
}

/** The part of a logger that packages use to write lines; pino's loggers have this shape. */
export interface Logger {
  debug: Write;
  info: Write;
  warn: Write;
  error: Write;
  fatal: Write;
  child(fields: LogFields): Logger;
  isLevelEnabled(level: string): boolean;
}
