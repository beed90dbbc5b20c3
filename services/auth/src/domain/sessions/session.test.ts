import { DAY_MS } from "@countersign/core";
import { generateKeyPair } from "@countersign/keys/node";
import { describe, expect, it } from "vitest";
import { beginSession, judgeRefresh, RECOVERY_SESSION_MS, rotate, SESSION_MS } from "./session.ts";

const now = new Date("2026-11-21T10:00:00Z");
const after = (ms: number) => new Date(now.getTime() + ms);
const { publicKey } = generateKeyPair();
const start = {
  id: "01900000-0000-7000-8000-000000000001",
  accountId: "01900000-0000-7000-8000-000000000002",
  app: { appId: "demo", appName: "Demo" },
  deviceKey: publicKey,
  accountKey: publicKey,
  authTime: now,
  refreshId: "first",
};
const session = beginSession(start, now);

describe("a refresh token", () => {
  const rotated = rotate(session, "second", now);

  it("is exchanged while it is the session's newest, and was used otherwise", () => {
    expect(judgeRefresh(session, "first", now)).toBe("rotate");
    expect(judgeRefresh(session, "other", now)).toBe("reused");
    expect(judgeRefresh(rotated, "second", after(DAY_MS))).toBe("rotate");
  });

  it("may be repeated for 30 seconds after it was exchanged, and no longer", () => {
    expect(judgeRefresh(rotated, "first", after(30_000))).toBe("repeat");
    expect(judgeRefresh(rotated, "first", after(30_001))).toBe("reused");
  });

  it("may not be repeated once its successor was used", () => {
    expect(judgeRefresh(rotate(rotated, "third", now), "first", now)).toBe("reused");
  });
});

describe("a session", () => {
  it("ends after 180 days, of a recovery key after seven, however often it is refreshed", () => {
    expect(session.expiresAt).toEqual(after(180 * DAY_MS));
    expect(session.refreshExpiresAt).toEqual(after(30 * DAY_MS));
    const late = rotate(session, "next", after(SESSION_MS - DAY_MS));
    expect(late.refreshExpiresAt).toEqual(session.expiresAt);
    expect(rotate(session, "next", after(DAY_MS)).refreshExpiresAt).toEqual(after(31 * DAY_MS));
    const recovery = beginSession(start, now, "recover");
    expect([recovery.expiresAt, recovery.refreshExpiresAt]).toEqual([
      after(RECOVERY_SESSION_MS),
      after(RECOVERY_SESSION_MS),
    ]);
    expect(RECOVERY_SESSION_MS).toBe(7 * DAY_MS);
  });
});
