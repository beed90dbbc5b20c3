export { AppError, type AppErrorOptions, type FieldError, isAppError } from "./app-error.ts";
export { GRPC_CODES, type GrpcCodeName, isReason, REASONS, type Reason } from "./reasons.ts";
export { unknownChain } from "./unknown-chain.ts";
