export { type AdminServer, type ReadyCheck, splitAddress, startAdminServer } from "./admin.ts";
export { type BudgetRule, budgetRules, countRules, flowUnits } from "./budget-rules.ts";
export { type Clock, FixedClock, systemClock } from "./clock.ts";
export { type Command, type CommandContext, runCommand, UsageError } from "./command.ts";
export {
  ConfigError,
  dialAddress,
  type Env,
  type LoadEnvOptions,
  listenAddress,
  loadEnv,
  readJsonFile,
  readSecretFile,
  sharedEnv,
} from "./config.ts";
export { defineFaultPoints, type FaultPointReport, type FaultPoints } from "./fault-points.ts";
export { groupUses } from "./group-uses.ts";
export { type GroupedWrite, groupWrites } from "./group-writes.ts";
export { isUuid, uuidv4, uuidv7 } from "./ids.ts";
export { createLogger, type Logger, type LoggerOptions, scrub } from "./log.ts";
export { createMetrics, type Metrics } from "./metrics.ts";
export { loadNetworks, type Network } from "./networks.ts";
export { loadPasskeys, type PasskeySettings } from "./passkeys.ts";
export {
  type Backend,
  loadPeers,
  type PeerRule,
  type Peers,
  type PeersFile,
  parsePeers,
  type TokenMode,
  type TokenScope,
} from "./peers.ts";
export {
  createPlainQueries,
  createPool,
  createPrismaAdapter,
  type ListenOptions,
  listenPostgres,
  type Patience,
  type PlainQueries,
  type PoolOptions,
  type PostgresListener,
  type PostgresPool,
} from "./postgres.ts";
export {
  type RunningService,
  type RunServiceOptions,
  runService,
  type ServiceProcess,
  startService,
} from "./process.ts";
export {
  type CanonicalPublicKey,
  isCanonicalPublicKey,
  type KeyAlgorithmName,
  publicKeyFromProto,
  publicKeyLength,
  publicKeyToProto,
} from "./proto-keys.ts";
export { answerStream } from "./rpc/answer-stream.ts";
export type { RpcCallOptions } from "./rpc/call-options.ts";
export {
  type ClientMethod,
  createRpcClient,
  type RpcClient,
  type RpcClientOptions,
} from "./rpc/client.ts";
export { createCoalescer } from "./rpc/coalescer.ts";
export { type CallContext, requireToken } from "./rpc/context.ts";
export type { RequestOf, ResponseOf, ServiceDefinition } from "./rpc/definition.ts";
export { decodeError, encodeError, toAppError } from "./rpc/errors.ts";
export type { Handler, Handlers } from "./rpc/handlers.ts";
export { backoffMs, sleepUntil } from "./rpc/retry.ts";
export { createRpcServer, type RpcServer } from "./rpc/server.ts";
export type { RpcServerOptions } from "./rpc/server-options.ts";
export { childTrace, type TraceParent, traceFrom, traceHeader } from "./rpc/trace.ts";
export { INTERNAL_DOMAIN, internalName, loadTls, loadTlsFromEnv, type TlsMaterial, type TlsPaths } from "./tls.ts";
export {
  ACCESS_TOKEN_AUDIENCE,
  ACCESS_TOKEN_TYPE,
  type AccessTokenClaims,
  REFRESH_TOKEN_TYPE,
} from "./token/claims.ts";
export { insufficientScope } from "./token/scopes.ts";
export { createTokenState, MAX_STATE_AGE_MS, type TokenState, type WritableTokenState } from "./token/state.ts";
export {
  createTokenVerifier,
  type TokenVerifier,
  type TokenVerifierOptions,
  type VerifiedToken,
} from "./token/verifier.ts";
export { untilCurrent, type WatchedTokenState, watchTokenState } from "./token/watch.ts";
