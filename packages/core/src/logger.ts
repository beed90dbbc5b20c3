/**
 * The fields that a log line may have: none is a secret, or text that a client chooses. All others are left
 * out, and their names listed under `dropped`. docs/logs.md explains them.
 */
export const LOG_FIELDS = [
  // The line and its process
  ...["name", "component", "err", "event", "file", "job", "step", "status", "state", "from", "to", "signal", "version"],
  // The request
  ...["requestId", "traceId", "method", "route", "rpc", "operation", "caller", "callee", "code", "reason", "rule"],
  ...["verdict", "durationMs", "attempt", "attempts"],
  // The account and what belongs to it
  ...["accountId", "sessionId", "deviceId", "appId", "twoFactorId", "signUpId", "provider"],
  // An administrator's command; `why` is the administrator's text
  ...["person", "command", "why"],
  // Events and jobs
  ...[
    "eventId",
    "endpoint",
    "result",
    "subject",
    "stream",
    "durable",
    "sequence",
    "batchSize",
    "count",
    "limit",
    "delayMs",
    "ageMs",
  ],
  // Chains and signing
  ...["chainName", "network", "transactionId", "blockHeight", "keyIndex", "kid", "scriptHash", "messageHash"],
  ...["policyVersion", "chainId", "lastSequence", "head", "signed"],
  // Servers
  ...["port", "address", "check", "checks"],
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
  /** Returns a logger that adds `fields` to each of its lines. */
  child(fields: LogFields): Logger;
  isLevelEnabled(level: string): boolean;
}
