import { LOG_FIELDS, type Logger } from "@countersign/core";
import { type DestinationStream, type Logger as PinoLogger, pino } from "pino";

const BEARER = /\b(Bearer|Basic)\s+[A-Za-z0-9\-._~+/]+=*/gi;
const JWT = /\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*(\.[A-Za-z0-9_-]*)?/g;
// Without "/": the paths of a stack have scopes of packages, such as "node_modules/@grpc/grpc-js".
const EMAIL = /[^\s@"'<>()=,;:/]{1,64}(@|%40)[^\s@"'<>()=,;:/]{1,253}\.\p{L}{2,}/gu;
const PEM = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g;
// A password may have an "@" too; without a password, the name is the secret.
const URL_PASSWORD = /(:\/\/[^\s:/@]*:)[^\s@]+@([^\s@/"']*@)*|(:\/\/)[^\s:/@]+@/g;

/** A text that one of the patterns above can match contains one of these; most texts contain none. */
const SUSPICIOUS = /@|%40|eyJ|PRIVATE KEY|bearer|basic/i;

/** Prisma prints a call's arguments between these two. */
const PRISMA_CALL = "` invocation";
const PARAGRAPH = "\n\n";

/** Removes a call's arguments, such as a login's subject, from an error of Prisma's. */
function withoutArguments(text: string): string {
  const begin = text.indexOf(PRISMA_CALL);
  // Without arguments, a third line end follows.
  const end = text.startsWith(`:\n${PARAGRAPH}`, begin + PRISMA_CALL.length) ? -1 : text.lastIndexOf(PARAGRAPH);
  return begin === -1 || end < begin ? text : text.slice(0, begin + PRISMA_CALL.length) + text.slice(end);
}

/** Characters of a secret that a cut may divide. */
const MAX_SECRET = 512;

/**
 * Removes credentials, e-mail addresses and the arguments of Prisma's calls from a text; for error messages
 * of other people's code. The text is cut before, since the patterns take long for a long one. Its last
 * characters are dropped after: they may be half of a secret.
 */
export function scrub(error: string, limit = 2_000): string {
  const text = withoutArguments(error);
  if (!SUSPICIOUS.test(text)) return text.slice(0, limit);
  const scrubbed = text
    .slice(0, limit + MAX_SECRET)
    .replace(PEM, "[private key]")
    .replace(URL_PASSWORD, "$1$3[password]@")
    .replace(BEARER, "$1 [token]")
    .replace(JWT, "[token]")
    .replace(EMAIL, "[e-mail]");
  return scrubbed.slice(0, text.length > limit + MAX_SECRET ? -MAX_SECRET : undefined).slice(0, limit);
}

interface LoggedError {
  type: string;
  message: string;
  stack?: string;
  code?: string;
  reason?: string;
  cause?: LoggedError;
}

function loggedError(value: unknown, depth = 0): LoggedError {
  if (!(value instanceof Error)) return { type: typeof value, message: scrub(String(value)) };
  const { code, reason } = value as { code?: unknown; reason?: unknown };
  const logged: LoggedError = { type: value.name, message: scrub(value.message) };
  if (value.stack !== undefined) logged.stack = scrub(value.stack, 8_000);
  if (typeof code === "string" || typeof code === "number") logged.code = String(code);
  if (typeof reason === "string") logged.reason = scrub(reason);
  if (value.cause !== undefined && depth < 4) logged.cause = loggedError(value.cause, depth + 1);
  return logged;
}

function loggedValue(value: unknown): unknown {
  if (typeof value === "string") return scrub(value);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.slice(0, 50).map(loggedValue);
  return "[object]";
}

const ALLOWED: ReadonlySet<string> = new Set(LOG_FIELDS);

function allowed(line: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  const dropped: string[] = [];
  for (const [name, value] of Object.entries(line)) {
    if (value === undefined) continue;
    if (!ALLOWED.has(name)) dropped.push(name);
    else kept[name] = name === "err" ? loggedError(value) : loggedValue(value);
  }
  if (dropped.length > 0) kept.dropped = dropped;
  return kept;
}

/** Lines of this time, or 4 KiB, are written together: a write for each is a quarter of what a line costs. */
const FLUSH_MS = 100;

function standardOutput(): DestinationStream & { flushSync(): void } {
  // Without its `periodicFlush`, which makes ten empty writes a second in an idle process.
  const output = pino.destination({ dest: 1, sync: false, minLength: 4_096 });
  let isDue = false;
  /** Bytes that are not written yet. */
  let left = 0;
  const flush = () => {
    isDue = false;
    output.flush();
  };
  const flushLater = () => {
    if (!isDue) setTimeout(flush, FLUSH_MS).unref();
    isDue = true;
  };
  output.on("write", (bytes: number) => {
    left -= bytes;
  });
  // A flush during a write does nothing.
  output.on("drain", () => left > 0 && flushLater());
  return {
    write(line) {
      left += Buffer.byteLength(line);
      flushLater();
      output.write(line);
    },
    // For a fatal line.
    flushSync() {
      left = 0;
      output.flushSync();
    },
  };
}

export const LOG_LEVELS: readonly string[] = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

export interface LoggerOptions {
  name: string;
  /** One of LOG_LEVELS; default info. */
  level?: string | undefined;
  /** Default: standard output. */
  destination?: DestinationStream;
}

/**
 * Creates a logger of JSON lines with an allow-list of fields; texts lose tokens, private keys, passwords and
 * e-mail addresses.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    level: options.level || "info",
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    // pino's own serializer of `err` would run after ours and log every member of an error.
    serializers: { err: (value: unknown) => value },
    formatters: {
      level: (label: string) => ({ level: label }),
      log: allowed,
    },
    hooks: {
      logMethod(this: PinoLogger, args: Parameters<PinoLogger["info"]>, method: (...all: unknown[]) => void) {
        // `logger.error(error)` too: pino would otherwise use its unfiltered message as the line's text.
        const [first, ...rest] = args as unknown[];
        const given =
          first instanceof Error ? [{ err: first }, rest[0] ?? "failed", ...rest.slice(1)] : [first, ...rest];
        method.apply(
          this,
          given.map((each) => (typeof each === "string" ? scrub(each) : each)),
        );
      },
    },
  };
  const logger: PinoLogger = pino(settings, options.destination ?? standardOutput());
  // pino does not inherit the formatter of bindings in children; children of children inherit what is set
  // here.
  const child = logger.child;
  logger.child = function childOf(this: PinoLogger, bindings: Record<string, unknown>, childOptions?: object) {
    return child.call(this, allowed(bindings), childOptions);
  } as PinoLogger["child"];
  return logger;
}
