import { describe, expect, test } from "vitest";
import { request, world } from "../testing/call-world.ts";

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

  test("an optional token is verified where it is sent; a service RPC never shows one", async () => {
    const seen: unknown[] = [];
    world.work = async (call) => void seen.push(call.token?.accountId, call.rawToken);
    await world.accounts.linkParent({} as never);
    await world.accounts.linkParent({} as never, { token: "a.full" });
    await expect(world.accounts.linkParent({} as never, { token: "a.wrong" })).rejects.toMatchObject({
      reason: "InvalidAccessToken",
    });
    await world.accounts.getAccount(request, { token: "a.full" });
    expect(seen).toEqual([undefined, undefined, "a", "a.full", undefined, undefined]);
  });

  test("a call's token goes on to the next service", async () => {
    const seen: unknown[] = [];
    world.work = async (call) => void seen.push(call.rawToken);
    const parent = { requestId: "request-1", signal: new AbortController().signal, rawToken: "b.full" };
    await world.accounts.getMe({} as never, { call: parent });
    expect(seen).toEqual(["b.full"]);
  });

  test("no token is logged", async () => {
    await world.accounts.getMe({} as never, { token: "secret-account.full" });
    expect(world.running.log.text()).not.toContain("secret-account");
  });
});
