export { answerItems } from "./answer-items.ts";
export type { RpcCallOptions } from "./call-options.ts";
export {
  type ClientMethod,
  createRpcChannel,
  createRpcClient,
  type RpcChannel,
  type RpcClient,
  type RpcClientOptions,
  type SoleRpcClient,
} from "./client.ts";
export { createCoalescer } from "./coalescer.ts";
export { type CallContext, requireToken } from "./context.ts";
export type { RequestOf, ResponseOf, ServiceDefinition } from "./definition.ts";
export { decodeError, encodeError } from "./errors.ts";
export type { Handler, Handlers } from "./handlers.ts";
export { requestIdFrom } from "./metadata.ts";
export {
  type PeerRule,
  type Peers,
  type PeersFile,
  parsePeers,
  peersFile,
  type TokenMode,
} from "./peers.ts";
export { publicKeyFromProto, publicKeyToProto, validPublicKeyFromProto } from "./public-key.ts";
export { parseRequest, publicKeyField, textField, uuidField } from "./request-fields.ts";
export { createRpcMetrics, type RpcMetrics } from "./rpc-metrics.ts";
export { createRpcServer, type RpcServer } from "./server.ts";
export type { RpcServerOptions } from "./server-options.ts";
export { childTrace, spanOf, traceHeader } from "./trace.ts";
