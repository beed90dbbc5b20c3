import { ACCOUNT_EVENTS } from "@countersign/http-api/events.ts";
import { Event, SessionCreated } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { describe, expect, it } from "vitest";
import { accountEventJson, subjectParts, toAccountEvent } from "./account-event.ts";

const accountId = "019a0000-0000-7000-8000-000000000001";
const occurredAt = new Date("2026-11-20T10:00:00.000Z");
const key = { algorithm: "ES256", publicKey: "ab".repeat(64) } as const;
const accountKey = publicKeyToProto(key);
const seenKey = { ...key, chainName: "flow-emulator", keyIndex: 3 };
const onChain = { accountKey, chainName: "flow-emulator", keyIndex: 3 };

const see = (name: string, payload: Partial<Event>, account = accountId) => {
  const event = Event.fromPartial({ id: "e", accountId: account, occurredAt, ...payload });
  return toAccountEvent(7, `cs.v1.${name.replace(".", `.${accountId}.`)}`, event);
};

describe("an event as devices see it", () => {
  it.each([
    [
      "auth.session-ended",
      { sessionEnded: { sessionId: "s", cause: "signed-out" } },
      "session.ended",
      { sessionId: "s", cause: "signed-out" },
    ],
    [
      "auth.session-created",
      { sessionCreated: SessionCreated.fromPartial({ sessionId: "t", replacedSessionId: "s" }) },
      "session.ended",
      { sessionId: "s", cause: "replaced" },
    ],
    [
      "auth.account-frozen",
      { accountFrozen: { frozen: true, cause: "user" } },
      "account.updated",
      { accountId, change: "frozen" },
    ],
    [
      "auth.account-unfrozen",
      { accountFrozen: { frozen: false, cause: "user" } },
      "account.updated",
      { accountId, change: "unfrozen" },
    ],
    [
      "auth.time-lock-started",
      { timeLockStarted: { id: "d", operation: "unfreeze", availableAt: new Date(0), chainName: "" } },
      "time-lock.started",
      { id: "d", operation: "unfreeze", availableAt: "1970-01-01T00:00:00.000Z" },
    ],
    [
      "auth.time-lock-cancelled",
      { timeLockCancelled: { id: "d", operation: "unfreeze" } },
      "time-lock.cancelled",
      { id: "d", operation: "unfreeze" },
    ],
    [
      "account.account-deployed",
      { accountDeployed: { addresses: [], transaction: undefined } },
      "account.updated",
      { accountId, change: "deployed" },
    ],
    ["account.account-updated", { accountUpdated: {} }, "account.updated", { accountId, change: "changed" }],
    [
      "account.chain-alert",
      {
        chainAlert: {
          chainName: "flow-emulator",
          transactionId: "t",
          eventIndex: 1,
          eventType: "flow.AccountKeyAdded",
          height: 5n,
          kind: "keys",
          freezes: true,
        },
      },
      "chain.alert",
      { id: "e", chainName: "flow-emulator", transactionId: "t", type: "flow.AccountKeyAdded", frozen: true },
    ],
    ["key.key-registered", { keyRegistered: onChain }, "key.added", seenKey],
    [
      "key.key-revoked",
      { keyRevoked: { ...onChain, deviceKey: accountKey, lastOfDevice: true } },
      "key.revoked",
      seenKey,
    ],
    [
      "device.device-registered",
      { deviceRegistered: { deviceId: "d", deviceKey: accountKey } },
      "device.updated",
      { deviceId: "d", change: "registered" },
    ],
    [
      "device.device-updated",
      { deviceUpdated: { deviceId: "d" } },
      "device.updated",
      { deviceId: "d", change: "changed" },
    ],
    [
      "device.device-removed",
      { deviceRemoved: { deviceId: "d", deviceKey: accountKey } },
      "device.updated",
      { deviceId: "d", change: "removed" },
    ],
  ])("%s", (name, payload, type, data) => {
    expect(see(name, payload)).toEqual({ sequence: 7, type, data, occurredAt });
    // The published shape of its data has the same members.
    const { shape } = ACCOUNT_EVENTS[type as keyof typeof ACCOUNT_EVENTS];
    expect(Object.keys(shape).sort()).toEqual([...Object.keys(data), "occurredAt"].sort());
  });

  it.each([
    ["pending", "requested"],
    ["approved", "approved"],
    ["rejected", "rejected"],
    ["expired", "expired"],
    ["finished", "finished"],
    ["failed", "failed"],
  ])("two-factor-changed to %s", (status, name) => {
    expect(Object.keys(ACCOUNT_EVENTS)).toContain(`two-factor.${name}`);
    expect(see("device.two-factor-changed", { twoFactorChanged: { id: "t", status } })).toMatchObject({
      type: `two-factor.${name}`,
      data: { id: "t" },
    });
  });

  it("is nothing of what they need not know, and of what is not whole", () => {
    for (const replacedSessionId of ["", "00000000-0000-0000-0000-000000000000"]) {
      const sessionCreated = SessionCreated.fromPartial({ sessionId: "t", replacedSessionId });
      expect(see("auth.session-created", { sessionCreated })).toBeUndefined();
    }
    expect(see("auth.session-created", {})).toBeUndefined();
    expect(see("auth.session-ended", {})).toBeUndefined();
    expect(see("device.two-factor-changed", { twoFactorChanged: { id: "t", status: "constructor" } })).toBeUndefined();
    expect(see("auth.constructor", {})).toBeUndefined();
    expect(see("key.key-registered", { keyRegistered: { ...onChain, accountKey: undefined } })).toBeUndefined();
    expect(see("auth.sign-up-completed", {})).toBeUndefined();
  });

  it("is nothing of what another service says, nor of another account's", () => {
    const sessionEnded = { sessionId: "s", cause: "signed-out" };
    expect(see("key.session-ended", { sessionEnded })).toBeUndefined();
    expect(see("key.key-revoked", { sessionEnded })).toBeUndefined();
    expect(see("auth.session-ended", { sessionEnded }, "019a0000-0000-7000-8000-000000000002")).toBeUndefined();
  });

  it("is JSON on one line, with the time", () => {
    const event = see("device.device-updated", { deviceUpdated: { deviceId: "d\n" } })!;
    expect(accountEventJson(event)).toBe(
      '{"deviceId":"d\\n","change":"changed","occurredAt":"2026-11-20T10:00:00.000Z"}',
    );
  });

  it.each(["", "cs.v1.a.b", "cs.v2.a.b.c", "cs.v1.a.b.c.d", "cs.v1.a.>.c"])("%j is no such subject", (subject) => {
    expect(subjectParts(subject)).toBeUndefined();
  });
});
