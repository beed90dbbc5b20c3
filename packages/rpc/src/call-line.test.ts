import { AppError } from "@countersign/core";
import { expect, it } from "vitest";
import { logCall } from "./call-line.ts";
import { memoryLogger } from "./testing/harness.ts";

const DECISION = { requestId: "r", traceId: "t", rpc: "auth.v1.SignUp/SignUp", caller: "gateway", durationMs: 1.234 };
const ACCOUNT = "01a1fc59-f059-70b8-9ddc-021b7279cf4f";

it.each([
  ["a decision", "info", "call answered", { ...DECISION, accountId: ACCOUNT }, undefined, undefined],
  [
    "a read",
    "debug",
    "call answered",
    { ...DECISION, rpc: "key.v1.Keys/ListKeys", accountId: ACCOUNT },
    undefined,
    undefined,
  ],
  ["a call about no account", "debug", "call answered", { ...DECISION, accountId: undefined }, undefined, undefined],
  ["a refusal", "info", "call refused", { ...DECISION, accountId: ACCOUNT }, new AppError("AccountFrozen"), undefined],
  ["a bug", "error", "call failed", { ...DECISION, accountId: ACCOUNT }, new AppError("Internal"), new Error("bug")],
  [
    "lost Postgres",
    "warn",
    "call failed",
    { ...DECISION, accountId: ACCOUNT },
    new AppError("Unavailable"),
    new Error("gone"),
  ],
] as const)("%s has one line, at %s", (_name, level, msg, fields, error, cause) => {
  const { logger, lines } = memoryLogger();
  logCall(logger, fields, error, cause);
  expect(lines()).toMatchObject([{ level, msg, requestId: "r", traceId: "t", rpc: fields.rpc, durationMs: 1.2 }]);
  expect(lines()[0]!.reason).toBe(error?.reason);
  expect(lines()[0]!.accountId).toBe(fields.accountId);
  expect("err" in lines()[0]!).toBe(cause !== undefined);
});

it("a refusal of the signer has its rule", () => {
  const { logger, lines } = memoryLogger();
  logCall(
    logger,
    { ...DECISION, accountId: ACCOUNT },
    new AppError("SigningRefused", { metadata: { reason: "NotOurs" } }),
  );
  expect(lines()).toMatchObject([{ code: "PERMISSION_DENIED", reason: "SigningRefused", rule: "NotOurs" }]);
});
