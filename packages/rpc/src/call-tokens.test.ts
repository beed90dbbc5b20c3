import type { AppError } from "@countersign/core";
import { describe, expect, test } from "vitest";
import { request, world } from "./testing/call-world.ts";

describe("tokens", () => {
  test("a user RPC needs a full token", async () => {
    await expect(world.accounts.getMe({} as never)).rejects.toMatchObject({ reason: "Unauthenticated" });
    await expect(world.accounts.getMe({} as never, { token: "a.sign" })).rejects.toMatchObject({
      reason: "InsufficientScope",
    });
    await expect(world.accounts.getMe({} as never, { token: "a.recover" })).rejects.toMatchObject({
      reason: "InsufficientScope",
    });
    await expect(world.accounts.getMe({} as never, { token: "two words" })).rejects.toMatchObject({
      reason: "InvalidAccessToken",
    });
    await world.accounts.getMe({} as never, { token: "a.full" });
  });

  test("an ephemeral RPC takes full and sign; the table may name more scopes", async () => {
    const message = { message: Buffer.alloc(1), chainName: "" } as never;
    await world.signing.signTransaction(message, { token: "a.sign" });
    await world.signing.signTransaction(message, { token: "a.full" });
    await expect(world.signing.signTransaction(message, { token: "a.recover" })).rejects.toMatchObject({
      reason: "InsufficientScope",
    });
    await world.signing.signPaymaster(message, { token: "a.recover" });
    await expect(world.signing.signPaymaster(message, { token: "a.sign" })).rejects.toMatchObject({
      reason: "InsufficientScope",
    });
  });

  test("a request of a stream that is another RPC's has that RPC's callers and scopes", async () => {
    const outcomes: string[] = [];
    world.work = async (call) => {
      const attempt = (rpc: string, raw: string) => {
        try {
          outcomes.push(call.tokenFor(rpc, raw).accountId);
        } catch (error) {
          outcomes.push((error as AppError).reason);
        }
      };
      attempt("signer.v1.Signing/SignTransaction", "a.sign");
      attempt("signer.v1.Signing/SignTransaction", "a.recover");
      attempt("signer.v1.Signing/SignTransaction", "a.wrong");
      attempt("signer.v1.Freezing/SignVoid", "a.full");
      attempt("signer.v1.Signing/SignNothing", "a.full");
    };
    for await (const _ of world.events.watch({ lastEventId: "" }, { token: "a.full" })) break;
    expect(outcomes).toEqual(["a", "InsufficientScope", "InvalidAccessToken", "CallerNotAllowed", "CallerNotAllowed"]);
  });

  test("an optional token is verified where it is sent; a service RPC never shows one", async () => {
    const seen: unknown[] = [];
    world.work = async (call) => void seen.push(call.token?.accountId, call.rawToken);
    await world.accounts.linkParent({} as never);
    await world.accounts.linkParent({} as never, { token: "a.full" });
    await world.accounts.getAccount(request, { token: "a.full" });
    expect(seen).toEqual([undefined, undefined, "a", "a.full", undefined, undefined]);
  });

  test.each([
    ["a.wrong", "InvalidAccessToken"],
    ["two words", "InvalidAccessToken"],
    ["a.sign", "InsufficientScope"],
    ["a.recover", "InsufficientScope"],
  ])("an optional token that is refused counts as none, and the handler sees why: %s", async (token, reason) => {
    const seen: unknown[] = [];
    world.work = async (call) => void seen.push(call.token, call.rawToken, call.tokenRefusal);
    await world.accounts.linkParent({} as never, { token });
    expect(seen).toEqual([undefined, undefined, reason]);
  });

  test("the error for a token of the wrong kind names the kinds that the operation takes", async () => {
    const detailOf = (work: Promise<unknown>) => work.catch(({ detail }) => detail);
    expect(await detailOf(world.accounts.getMe({} as never, { token: "a.sign" }))).toBe(
      "This operation takes the access token of a full session; an ephemeral token was sent",
    );
    const message = { message: Buffer.alloc(1), chainName: "" } as never;
    expect(await detailOf(world.signing.signTransaction(message, { token: "a.recover" }))).toBe(
      "This operation takes the access token of a full session or an ephemeral token; " +
        "the access token of a recovery session was sent",
    );
  });

  test("a call's token goes on to the next service", async () => {
    const seen: unknown[] = [];
    world.work = async (call) => void seen.push(call.rawToken);
    const parent = { requestId: "request-1", signal: new AbortController().signal, rawToken: "b.full" };
    await world.accounts.getMe({} as never, { onBehalfOf: parent });
    expect(seen).toEqual(["b.full"]);
  });

  test("no token is logged", async () => {
    await world.accounts.getMe({} as never, { token: "secret-account.full" });
    expect(world.running.log.text()).not.toContain("secret-account.full");
  });
});
