import { DAY_MS } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { generateKeyPair, signMessage } from "@countersign/keys/node";
import { beforeEach, describe, expect, it } from "vitest";
import { refreshProofMessage, refreshToken } from "./refresh-token.ts";
import { beginSession, type EndCause, type Session, type SessionStore } from "./session.ts";

const device = generateKeyPair();
const other = generateKeyPair();
const sessionId = "01900000-0000-7000-8000-000000000001";
const NO_PROOF = new Uint8Array();
const refused = (reason: string) => expect.objectContaining({ reason });

let clock: FixedClock;
let session: Session | undefined;
let ended: EndCause | undefined;
let refresh: (token: string, proof?: Uint8Array) => Promise<unknown>;
beforeEach(() => {
  clock = new FixedClock("2026-11-21T10:00:00Z");
  const start = {
    id: sessionId,
    accountId: "01900000-0000-7000-8000-000000000002",
    app: { appId: "demo", appName: "Demo" },
    deviceKey: device.publicKey,
    accountKey: other.publicKey,
    authTime: undefined,
    refreshId: "first",
  };
  session = beginSession(start, clock.now());
  ended = undefined;
  const sessions: Pick<SessionStore, "update"> = {
    async update(_id, work) {
      if (!session || ended) return undefined;
      const { next, end, result } = work(session);
      if (next) session = next;
      ended = end;
      return result;
    },
  };
  // A token is its refresh id here.
  const options = {
    sessions: sessions as SessionStore,
    clock,
    read: async (token: string) => {
      if (token === "garbage") return undefined;
      if (token === "access-token") return "access-token" as const;
      return token === "expired" ? ("expired" as const) : { sessionId, accountId: sessionId, refreshId: token };
    },
    issue: async (next: Session) => ({ accessToken: "", refreshToken: next.refreshId }),
  };
  const run = refreshToken(options);
  refresh = (token, proof = NO_PROOF) => run(token, proof, "request");
});

const proofOf = (token: string, key = device) => signMessage(key.privateKey, refreshProofMessage(token));

describe("the proof of a refresh", () => {
  it("by the device is taken, and required from then on", async () => {
    await refresh("first", proofOf("first"));
    const { refreshId } = session!;
    await expect(refresh(refreshId)).rejects.toEqual(refused("RefreshProofRequired"));
    expect(session!.refreshId).toBe(refreshId);
    await refresh(refreshId, proofOf(refreshId));
    expect(session!.refreshId).not.toBe(refreshId);
  });

  it("stays required after a repetition", async () => {
    await refresh("first", proofOf("first"));
    await expect(refresh("first")).rejects.toEqual(refused("RefreshProofRequired"));
    await refresh("first", proofOf("first"));
    await expect(refresh(session!.refreshId)).rejects.toEqual(refused("RefreshProofRequired"));
  });

  it("of another key, over another token or without the prefix changes nothing", async () => {
    const bare = signMessage(device.privateKey, Buffer.from("first"));
    for (const proof of [proofOf("first", other), proofOf("second"), bare, new Uint8Array(64)])
      await expect(refresh("first", proof)).rejects.toEqual(refused("InvalidSignature"));
    expect(session!.refreshId).toBe("first");
    expect(session!.proofRequired).toBe(false);
    await refresh("first");
    expect(session!.proofRequired).toBe(false);
  });
});

describe("a refresh token", () => {
  it("that is none of ours or is over is refused", async () => {
    await expect(refresh("garbage")).rejects.toEqual(refused("InvalidRefreshToken"));
    await expect(refresh("access-token")).rejects.toMatchObject({
      reason: "InvalidRefreshToken",
      detail: expect.stringContaining("an access token was sent"),
    });
    await expect(refresh("expired")).rejects.toEqual(refused("SessionEnded"));
    clock.advance(30 * DAY_MS);
    await expect(refresh("first")).rejects.toEqual(refused("SessionEnded"));
    session = undefined;
    await expect(refresh("first")).rejects.toEqual(refused("SessionEnded"));
  });

  it("holds until the last moment of its life and of its session's", async () => {
    clock.advance(30 * DAY_MS - 1);
    await refresh("first");
    session = { ...session!, expiresAt: clock.now() };
    await expect(refresh(session.refreshId)).rejects.toEqual(refused("SessionEnded"));
  });

  it("repeated after 30 seconds ends the session, once", async () => {
    await refresh("first");
    const successor = session!.refreshId;
    clock.advance(30_000);
    expect(await refresh("first")).toMatchObject({ refreshToken: successor });
    clock.advance(1);
    await expect(refresh("first")).rejects.toEqual(refused("RefreshTokenReused"));
    expect(ended).toBe("refresh-token-reused");
    await expect(refresh("first")).rejects.toEqual(refused("SessionEnded"));
  });
});
