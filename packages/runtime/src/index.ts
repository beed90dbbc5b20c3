export { exportCertificateExpiry } from "./certificate-metrics.ts";
export { type Command, command, runCommand, UsageError } from "./command.ts";
export {
  ConfigError,
  dialAddress,
  type Env,
  listenAddress,
  loadEnv,
  loadServiceEnv,
  readJsonFile,
  readSecretFile,
  serviceEnv,
  sharedEnv,
  tlsEnv,
} from "./config.ts";
export type { Files, ReadFile, WatchedFile } from "./files.ts";
export { createLogger } from "./log.ts";
export { createMetrics, type Metrics } from "./metrics.ts";
export { loadPeers } from "./peers.ts";
export { startPeriodicJob } from "./periodic-job.ts";
export { runService, type ServiceProcess, startService } from "./process.ts";
export { createReadGauge } from "./read-gauge.ts";
export {
  CHAIN_ARGUMENTS,
  EVENTS_ARGUMENTS,
  RESTORE_ARGUMENTS,
  RESTORE_MS,
  readSince,
  runRestore,
  STATED_LOSSES,
} from "./restore.ts";
export {
  type ChainLine,
  chainLine,
  changedAccounts,
  type EventLine,
  type Found,
  foundLine,
  linesOf,
  readJsonLines,
  type SignedUp,
  signedUpLine,
  writeJsonLines,
} from "./restore-files.ts";
export { createSagaMetrics, OPEN_SAGAS_MS, type OpenSagas } from "./saga-metrics.ts";
export { createServiceRuntime, type ServiceRuntime } from "./service-runtime.ts";
export { loadTls, loadTlsFromEnv, type TlsPaths, watchTls } from "./tls.ts";
export { exportTokenStateAge } from "./token-state-metrics.ts";
export { readOnce, watchFiles } from "./watched-files.ts";
