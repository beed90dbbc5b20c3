import { AppError } from "@countersign/core";
import { Metadata, status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { decodeError, encodeError } from "./errors.ts";

const failed = (code: number, details: string, metadata = new Metadata()) =>
  Object.assign(new Error(details), { code, details, metadata });

it.each([
  [status.UNAVAILABLE, "no connection", "Unavailable"],
  [status.CANCELLED, "", "Unavailable"],
  [status.INTERNAL, "Received RST_STREAM with code 2 (Internal server error)", "Unavailable"],
  [status.INTERNAL, "", "Internal"],
  [status.DEADLINE_EXCEEDED, "", "DeadlineExceeded"],
  [status.UNKNOWN, "any text", "Internal"],
])("a call that failed with %i %s is %s to its caller", (code, details, reason) => {
  expect(decodeError(failed(code, details)).reason).toBe(reason);
});

it("a service's own Internal stays Internal, with any text", () => {
  const { code, metadata } = encodeError(new AppError("Internal"));
  expect(decodeError(failed(code, "Received RST_STREAM", metadata)).reason).toBe("Internal");
});

it("a detail is cut to well-formed text: grpc-js throws for half a character", () => {
  const { details } = encodeError(new AppError("InvalidRequest", { detail: `${"x".repeat(499)}😀` }));
  expect(details).toBe(`${"x".repeat(499)}\ufffd`);
  expect(encodeError(new AppError("InvalidRequest", { detail: "\ud800" })).details).toBe("\ufffd");
});
