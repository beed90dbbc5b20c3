export { AppError, type FieldError, invalidField, invalidFields, isAppError, toAppError } from "./app-error.ts";
export { createBatcher } from "./batcher.ts";
export { certificatesIn, createCaRemoval, type TlsMaterial } from "./certificates.ts";
export { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, systemClock } from "./clock.ts";
export { countPerMinute, limitPerMinute, minuteOf } from "./count-per-minute.ts";
export { countUnderWay } from "./count-under-way.ts";
export type { DeviceAttributes } from "./device-attributes.ts";
export {
  asOperation,
  enableFaultPoints,
  type FaultPointReport,
  withCommitPoints,
  withFaultPoints,
} from "./fault-points.ts";
export { hasAtMost } from "./has-at-most.ts";
export { isUuid, NIL_UUID, orderedUuidv7, uuidv4, uuidv7 } from "./ids.ts";
export { INTERNAL_DOMAIN, internalName, SIGNS_FOR_ALL } from "./internal-name.ts";
export { LOG_FIELDS, type LogFields, type Logger } from "./logger.ts";
export { type OutsideCallObserver, observeOutsideCalls } from "./outside-calls.ts";
export { asOutsidePort, asPort } from "./port.ts";
export { isPostgresLost } from "./postgres-lost.ts";
export { readBody } from "./read-body.ts";
export { GRPC_CODES, type GrpcCodeName, isReason, REASON_TOPICS, REASONS, type Reason } from "./reasons.ts";
export { backoffMs, RETRY_ATTEMPTS, sleepUntil } from "./retry.ts";
export { closeServer, listenAt, splitAddress } from "./split-address.ts";
export { insufficientScope, type TokenScope } from "./token-scope.ts";
export { formatTraceParent, parseTraceParent, type TraceParent } from "./trace-parent.ts";
export {
  activeTrace,
  detached,
  inSpan,
  newTrace,
  recordSpans,
  type Span,
  type SpanKind,
  type SpanOutcome,
  startSpan,
  type Tracer,
} from "./tracing.ts";
export {
  type AdminCommand,
  type Administrator,
  type AdminRecord,
  type AdminRequest,
  REQUEST_GOOD_FOR_MS,
  requireMayDecide,
} from "./two-persons.ts";
export { chainNamed, unknownChain } from "./unknown-chain.ts";
export {
  BLOCK_SENT_MS,
  limitIdOf,
  MAX_STATE_AGE_MS,
  type TokenVerifier,
  type VerifiedToken,
} from "./verified-token.ts";
export { asWatched, unchanging, updateMap, type Watched } from "./watched.ts";
