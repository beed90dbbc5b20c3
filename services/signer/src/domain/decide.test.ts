import { AppError } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { payloadMessage } from "@countersign/flow";
import { beforeEach, describe, expect, it } from "vitest";
import { type AuditEntry, sha256 } from "../audit/record.ts";
import { audit, chainName, policies, server, tx, vault } from "../testing/policy-fixture.ts";
import { createDecide, type Permission } from "./decide.ts";

const message = payloadMessage(tx());
const { accountId } = server;
const sessionId = "01900000-0000-7000-8000-000000000002";
const requester = { caller: "gateway", accountId, sessionId, limitId: accountId };
const permission: Permission = { key: server, address: "01cf0e2f2f715450", keyId: 0 };
const refuseAll = async () => {
  throw new AppError("SigningRefused", { metadata: { reason: "GasLimit" } });
};

const clock = new FixedClock("2026-11-20T10:00:30Z");
let records: AuditEntry[] = [];
beforeEach(() => {
  records = [];
});
const recording = {
  ...audit,
  append: async (entry: AuditEntry) => {
    records.push(entry);
    return { chainId: "c", sequence: BigInt(records.length), hash: "" };
  },
};
const deciding = (change: Partial<Parameters<typeof createDecide>[0]> = {}) =>
  createDecide({ vault, audit: recording, clock, policies, recordedRefusalsPerMinute: 3, ...change });

describe("a decision", () => {
  it("has all of it in its record, signed or refused", async () => {
    const common = {
      time: clock.now(),
      ...requester,
      operation: "transaction",
      messageHash: sha256(message),
      scriptHash: sha256(tx().script),
      policyVersion: policies.current().version,
    };
    await deciding()("transaction", message, requester, async () => permission);
    expect(records).toEqual([{ ...common, chainName, verdict: "signed", keyVersion: 1 }]);
    await expect(deciding()("transaction", message, requester, refuseAll)).rejects.toThrow();
    expect(records[1]).toEqual({ ...common, chainName: "", verdict: "GasLimit", keyVersion: 0 });
  });

  it("gives the signature away once its record is durable, and not before", async () => {
    let durable = () => {};
    const append = () =>
      new Promise<{ chainId: string; sequence: bigint; hash: string }>((resolve) => {
        durable = () => resolve({ chainId: "c", sequence: 7n, hash: "ab" });
      });
    let left = false;
    const work = deciding({ audit: { ...recording, append } })(
      "transaction",
      message,
      requester,
      async () => permission,
    );
    void work.then(() => {
      left = true;
    });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(left).toBe(false);
    durable();
    expect((await work).receipt).toEqual({ chainId: "c", sequence: 7n, hash: "ab" });
  });

  it("gives nothing away whose record could not be written", async () => {
    const append = async () => Promise.reject(new AppError("Unavailable"));
    const work = deciding({ audit: { ...recording, append } })(
      "transaction",
      message,
      requester,
      async () => permission,
    );
    await expect(work).rejects.toMatchObject({ reason: "Unavailable" });
  });

  it("of a vault that fails is no signature, and none in the records", async () => {
    const broken = { ...vault, sign: async () => Promise.reject(new AppError("Unavailable")) };
    const work = deciding({ vault: broken })("transaction", message, requester, async () => permission);
    await expect(work).rejects.toMatchObject({ reason: "Unavailable" });
    expect(records).toEqual([]);
  });

  it("of a request that was under way for too long is none: voiding may have looked for it already", async () => {
    const slow = new FixedClock();
    const after = (ms: number) =>
      deciding({ clock: slow })("transaction", message, requester, async () => {
        slow.advance(ms);
        return permission;
      });
    await after(3_000);
    await expect(after(3_001)).rejects.toMatchObject({ reason: "DeadlineExceeded" });
    expect(records).toHaveLength(1);
  });

  it("about no message names it by its hash alone", async () => {
    const nothing = Buffer.from("nothing");
    await expect(deciding()("paymaster", nothing, requester, async () => permission)).rejects.toMatchObject({
      reason: "InvalidMessage",
    });
    expect(records).toMatchObject([{ verdict: "InvalidMessage", messageHash: sha256(nothing), scriptHash: "" }]);
  });
});

describe("refusals", () => {
  const refused = async (decide: ReturnType<typeof createDecide>, by = requester) =>
    expect(decide("transaction", message, by, refuseAll)).rejects.toMatchObject({ reason: "SigningRefused" });

  it("are recorded so many times a minute for each requester; more are refused all the same", async () => {
    const decide = deciding();
    for (let i = 0; i < 10; i++) await refused(decide);
    expect(records).toHaveLength(3);
    await refused(decide, { ...requester, accountId: "01900000-0000-7000-8000-000000000009" });
    await refused(decide, { ...requester, caller: "shop" });
    expect(records).toHaveLength(5);
    clock.advance(29_999);
    await refused(decide);
    expect(records).toHaveLength(5);
    clock.advance(1);
    await refused(decide);
    expect(records).toHaveLength(6);
  });

  it("by a budget are recorded as often as others where no account is asked for, and always where one is", async () => {
    const budgetFull = {
      ...audit,
      append: async (entry: AuditEntry, _reservation?: unknown, keepsRefusal: () => boolean = () => true) => {
        if (keepsRefusal()) records.push({ ...entry, verdict: "BudgetExceeded" });
        throw new AppError("SigningRefused", { metadata: { reason: "BudgetExceeded" } });
      },
    };
    const decide = deciding({ audit: budgetFull });
    const asks = (accountId: string) =>
      expect(decide("creation", message, { ...requester, accountId }, async () => permission)).rejects.toMatchObject({
        metadata: { reason: "BudgetExceeded" },
      });
    for (let i = 0; i < 10; i++) await asks("");
    expect(records).toHaveLength(3);
    // Devices are limited by their signatures per minute, which count these.
    for (let i = 0; i < 10; i++) await asks(requester.accountId);
    expect(records).toHaveLength(13);
  });

  it("count in the limit of signatures per minute, recorded or not; what is no refusal does not", async () => {
    const noted: string[] = [];
    const noteRefusal = (accountId: string) => void noted.push(accountId);
    const decide = deciding({ audit: { ...audit, noteRefusal }, recordedRefusalsPerMinute: 0 });
    await refused(decide);
    await refused(decide);
    await decide("transaction", message, requester, async () => permission);
    const unavailable = async () => Promise.reject(new AppError("Unavailable"));
    await expect(decide("transaction", message, requester, unavailable)).rejects.toMatchObject({
      reason: "Unavailable",
    });
    expect(noted).toEqual([requester.accountId, requester.accountId]);
  });

  it("that went unrecorded hide no signature", async () => {
    const decide = deciding({ recordedRefusalsPerMinute: 0 });
    await refused(decide);
    await decide("transaction", message, requester, async () => permission);
    expect(records.map(({ verdict }) => verdict)).toEqual(["signed"]);
  });
});
