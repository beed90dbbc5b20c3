/**
 * Prisma: unreachable, timed out, connection closed, no free connection in time, no transaction started in
 * time.
 */
const PRISMA = new Set(["P1001", "P1002", "P1008", "P1017", "P2024", "P2028"]);
const SOCKET = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EHOSTUNREACH", "EAI_AGAIN"]);
/**
 * SQLSTATE: classes 08 (connection) and 53 (full disk, too many connections), server shutdown and startup,
 * idle too long in a transaction, a server that only reads.
 */
const SQLSTATE = /^(08...|53...|57P0[1-3]|25P03|25006)$/;
const ADAPTER = new Set(["DatabaseNotReachable", "ConnectionClosed", "SocketTimeout", "TooManyConnections"]);
// pg gives these errors no code.
const PG =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (has encountered a connection error|was closed)|Query read timeout|Transaction timeout)/;
const MAX_DEPTH = 5;

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/**
 * Returns whether an error of pg or Prisma, or one of its causes, means that Postgres was not able to work.
 * Such an error says nothing about the statement itself.
 */
export function isPostgresLost(error: unknown, depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > MAX_DEPTH) return false;
  const { code, errorCode, kind, message, cause, meta } = error as Record<string, unknown>;
  // Prisma's raw queries fail with one code for all errors; the adapter's own error is kept beside it.
  const adapterError = (meta as { driverAdapterError?: unknown } | null | undefined)?.driverAdapterError;
  return (
    [code, errorCode].some(
      (value) => PRISMA.has(text(value)) || SOCKET.has(text(value)) || SQLSTATE.test(text(value)),
    ) ||
    ADAPTER.has(text(kind)) ||
    PG.test(text(message)) ||
    isPostgresLost(cause, depth + 1) ||
    isPostgresLost(adapterError, depth + 1)
  );
}
