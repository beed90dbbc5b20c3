import { existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import type { Reason } from "@countersign/core";
import { keepExcused } from "@countersign/local-stack/testing/gateway-logs.ts";
import { beforeAll, describe, expect, it } from "vitest";
import type { Provoked } from "./common-codes.ts";
import { operations } from "./openapi.ts";
import { rows } from "./rows/index.ts";
import { codesOf } from "./rows.ts";

/** The operations of the contract, with the codes that it names for them; those of every operation aside. */
const CONTRACT: Record<string, Reason[]> = {
  "POST /auth/v1/signup": ["AccountExists", "IdempotencyKeyReused", "UnsupportedKey", "RateLimited"],
  "POST /auth/v1/signin/challenge": ["PleaseRegisterKey", "RateLimited"],
  "POST /auth/v1/signin/challenge/respond": ["InvalidSignature", "UnknownChallenge", "ChallengeExpired", "RateLimited"],
  "POST /auth/v1/signin/2fa": [
    "AccountNotFound",
    "KeyAlreadyRegistered",
    "TwoFactorAuthClosed",
    "IdempotencyKeyReused",
    "UnsupportedKey",
    "RateLimited",
  ],
  "POST /auth/v1/signin/2fa/finish": [
    "TwoFactorAuthPending",
    "TwoFactorAuthRejected",
    "TwoFactorAuthExpired",
    "TwoFactorAuthFinished",
    "RateLimited",
  ],
  "GET /device/v1/2fa": [],
  "POST /device/v1/2fa/reopen": [],
  "GET /device/v1/2fa/{id}": ["TwoFactorAuthNotFound"],
  "PUT /device/v1/2fa/{id}": ["TwoFactorAuthNotFound", "TwoFactorAuthNotPending", "DeviceNotFound"],
  "DELETE /device/v1/2fa/{id}": ["TwoFactorAuthNotFound", "TwoFactorAuthNotPending"],
  "POST /device/v1/2fa/{id}/approve": [
    "TwoFactorAuthNotFound",
    "TwoFactorAuthNotPending",
    "MessageRenewed",
    "TransactionMismatch",
    "TransactionPending",
  ],
  "GET /device/v1/devices": [],
  "PUT /device/v1/devices/{publicKey}": ["DeviceNotFound", "PushTokenNotYours", "InvalidRequest"],
  "DELETE /device/v1/devices/{publicKey}": ["DeviceNotFound", "DeviceTooYoung", "LastDevice"],
  "GET /device/v1/events": [],
  "POST /account/v1/freeze": [],
  "POST /account/v1/unfreeze": [],
  "GET /key/v1/keys": [],
  "POST /key/v1/recovery": ["UnsupportedKey"],
  "DELETE /key/v1/keys/{publicKey}": [],
  "GET /account/v1/me": [],
  "POST /account/v1/parent": ["ParentNotLinked"],
  "GET /account/v1/networks": [],
  "GET /sign/v1/cadence/templates": [],
  "POST /sign/v1/cadence/transaction": ["SigningRefused", "InvalidMessage", "AccountNotReady", "RateLimited"],
  "POST /sign/v1/cadence/paymaster": ["SigningRefused", "InvalidMessage", "AccountNotReady", "RateLimited"],
  "POST /auth/v1/token/refresh": ["RateLimited"],
  "POST /auth/v1/signout": [],
  "GET /auth/v1/sessions": [],
  "DELETE /auth/v1/sessions/{id}": [],
  "DELETE /auth/v1/sessions": [],
};

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
const described = Object.values(operations);

/** Returns whether a test of the e2e project provokes the code, here or in the file that is named. */
const isAnswered = (provoked: Provoked): boolean =>
  typeof provoked === "function" || ("file" in provoked && provoked.file.startsWith("tests/"));

// tests/answers looks for every other documented code in the logs of this run.
beforeAll(() => {
  const excused = Object.entries(rows).map(([operationId, row]) => {
    const provoked = Object.entries(codesOf(operationId, row));
    return [operationId, provoked.filter(([, each]) => !isAnswered(each)).map(([code]) => code)];
  });
  keepExcused(Object.fromEntries(excused));
});

describe("the operations", () => {
  it("that are called are those of the route table, all of them", () => {
    expect(Object.keys(rows).sort()).toEqual(Object.keys(operations).sort());
  });

  it("of the contract are there, and only those that say which page describes them besides", () => {
    const besides = described.filter(({ operationId }) => rows[operationId]?.besides !== undefined).map(nameOf);
    expect(described.map(nameOf).sort()).toEqual([...Object.keys(CONTRACT), ...besides].sort());
  });

  it("that are besides the contract are described where their row says", () => {
    const pages = Object.values(rows).flatMap(({ besides }) => besides ?? []);
    for (const page of pages) expect(existsSync(join(root, page)), page).toBe(true);
  });
});

describe.each(Object.entries(rows))("%s", (operationId, row) => {
  const operation = operations[operationId]!;
  const provoked = codesOf(operationId, row);

  it("documents every code that is provoked, and has a test or a reason for every one that it documents", () => {
    expect(Object.keys(provoked).sort()).toEqual([...operation.codes].sort());
    for (const entry of Object.values(provoked))
      if ("because" in entry) expect(entry.because.length).toBeGreaterThan(20);
  });

  it("documents the codes that the contract names", () => {
    const general: Reason[] =
      operation.token === "required" ? ["InvalidAccessToken", "AccessTokenExpired", "SessionEnded"] : [];
    expect(operation.codes).toEqual(expect.arrayContaining([...general, ...(CONTRACT[nameOf(operation)] ?? [])]));
  });

  it("names its success and no other", () => {
    const successes = Object.keys(operation.responses).filter((status) => status.startsWith("2"));
    expect(successes).toEqual([row.answer ? "200" : "204"]);
  });
});
