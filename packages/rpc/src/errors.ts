import { AppError, GRPC_CODES, isReason, REASONS, type Reason } from "@countersign/core";
import { Any } from "@countersign/proto/google/protobuf/any.ts";
import { BadRequest, ErrorInfo, RetryInfo } from "@countersign/proto/google/rpc/error_details.ts";
import { Status } from "@countersign/proto/google/rpc/status.ts";
import { Metadata, type ServiceError, type StatusObject, status } from "@grpc/grpc-js";

const DOMAIN = "countersign";
const DETAILS = "grpc-status-details-bin";
const TYPE = "type.googleapis.com/google.rpc.";
// HTTP/2 clients limit all trailers to about 8 KiB; base64 adds a third.
const MAX_FIELDS = 20;
const MAX_DETAIL = 500;
/** Well-formed: grpc-js throws for half a character, after the handler, which would end the process. */
const cut = (detail: string): string => detail.slice(0, MAX_DETAIL).toWellFormed();

/** Encodes an error as google.rpc.Status. Its cause and stack are left out. */
export function encodeStatus(error: AppError): Buffer {
  const message = cut(error.detail);
  const details = [
    {
      typeUrl: `${TYPE}ErrorInfo`,
      value: ErrorInfo.encode({ reason: error.reason, domain: DOMAIN, metadata: { ...error.metadata } }).finish(),
    },
  ];
  if (error.fields.length > 0) {
    const fieldViolations = error.fields
      .slice(0, MAX_FIELDS)
      .map(({ pointer, detail }) => ({ field: pointer, description: cut(detail) }));
    const badRequest = BadRequest.fromPartial({ fieldViolations });
    details.push({ typeUrl: `${TYPE}BadRequest`, value: BadRequest.encode(badRequest).finish() });
  }
  if (error.retryAfterSeconds !== undefined) {
    const seconds = Math.floor(error.retryAfterSeconds);
    const nanos = Math.round((error.retryAfterSeconds - seconds) * 1e9);
    const value = RetryInfo.encode({ retryDelay: { seconds: BigInt(seconds), nanos } }).finish();
    details.push({ typeUrl: `${TYPE}RetryInfo`, value });
  }
  return Buffer.from(
    Status.encode({
      code: GRPC_CODES[REASONS[error.reason].grpc],
      message,
      details: details.map(({ typeUrl, value }) => Any.fromPartial({ typeUrl, value: Buffer.from(value) })),
    }).finish(),
  );
}

/** Returns status and google.rpc.Status details of an error, as a call ends with them. */
export function encodeError(error: AppError): Pick<StatusObject, "code" | "details" | "metadata"> {
  const metadata = new Metadata();
  metadata.set(DETAILS, encodeStatus(error));
  const code = GRPC_CODES[REASONS[error.reason].grpc];
  return { code, details: cut(error.detail), metadata };
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && typeof (error as Partial<ServiceError>).code === "number" && "metadata" in error;
}

export function grpcCodeOf(error: unknown): number {
  if (error instanceof AppError) return GRPC_CODES[REASONS[error.reason].grpc];
  return isServiceError(error) ? error.code : status.UNKNOWN;
}

/** Returns the AppError of an encoded google.rpc.Status; undefined if its reason is not in the table. */
function decodeDetails(bytes: Uint8Array, cause?: Error): AppError | undefined {
  let reason: Reason | undefined;
  let metadata: Record<string, string> = {};
  let fields: { pointer: string; detail: string }[] = [];
  let retryAfterSeconds: number | undefined;
  const { details, message } = Status.decode(bytes);
  for (const { typeUrl, value } of details) {
    if (typeUrl === `${TYPE}ErrorInfo`) {
      const info = ErrorInfo.decode(value);
      if (info.domain === DOMAIN && isReason(info.reason)) reason = info.reason;
      metadata = info.metadata;
    } else if (typeUrl === `${TYPE}BadRequest`) {
      fields = BadRequest.decode(value).fieldViolations.map(({ field, description }) => ({
        pointer: field,
        detail: description,
      }));
    } else if (typeUrl === `${TYPE}RetryInfo`) {
      const { retryDelay } = RetryInfo.decode(value);
      if (retryDelay !== undefined) retryAfterSeconds = Number(retryDelay.seconds) + retryDelay.nanos / 1e9;
    }
  }
  if (reason === undefined) return undefined;
  // An Internal's detail is fixed; the text of the other side must not reach our callers.
  const detail = reason === "Internal" ? undefined : message;
  return new AppError(reason, { detail, fields, metadata, retryAfterSeconds, cause });
}

export function decodeStatus(bytes: Uint8Array): AppError {
  return decodeDetails(bytes) ?? new AppError("Internal");
}

/**
 * Returns whether the stream of a call was reset below gRPC, which grpc-js reports as INTERNAL; a service's
 * own INTERNAL carries a reason.
 */
function isStreamReset({ code, details }: ServiceError): boolean {
  return code === status.INTERNAL && details.includes("RST_STREAM");
}

/**
 * Returns the AppError of a failed call. An error without a reason of the table becomes Unavailable,
 * DeadlineExceeded or Internal.
 */
export function decodeError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (!isServiceError(error)) return new AppError("Internal", { cause: error });
  try {
    const [bytes] = error.metadata.get(DETAILS);
    const decoded = Buffer.isBuffer(bytes) ? decodeDetails(bytes, error) : undefined;
    if (decoded !== undefined) return decoded;
  } catch {
    // Details that cannot be decoded count as absent.
  }
  if (isStreamReset(error)) return new AppError("Unavailable", { cause: error });
  switch (error.code) {
    case status.UNAVAILABLE:
    case status.CANCELLED:
      return new AppError("Unavailable", { cause: error });
    case status.DEADLINE_EXCEEDED:
      return new AppError("DeadlineExceeded", { cause: error });
    default:
      return new AppError("Internal", { cause: error });
  }
}
