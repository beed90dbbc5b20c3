import { readKeyAddition, sendKeyAddition } from "@countersign/client";
import { decodeMessage, payloadMessage } from "@countersign/flow";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { describe, expect, it } from "vitest";
import { query } from "../security/token-forge.ts";
import { access, chainName, logIn, network, newPhone } from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { approve, ask, owner } from "./two-factor-new-devices.ts";

it("the requester's address is the connection's, not the one in its headers", async () => {
  const { deviceKey } = newPhone();
  const body = {
    request: { ...(await logIn(owner.email)), chainName },
    userKey: { type: "device", publicKey: deviceKey.publicKey, device: { publicKey: deviceKey.publicKey } },
  };
  const forged = "203.0.113.9";
  const headers = { "x-forwarded-for": forged, forwarded: `for=${forged}`, "x-real-ip": forged, "x-client-ip": forged };
  const { body: asked } = await call("POST", "/auth/v1/signin/2fa", { body, headers });
  expect(asked.twoFactorAuth.request.userOpInfo.signIn).toMatchObject({ ip: "127.0.0.1", location: "" });
});

describe("a key that is already registered", () => {
  const askWith = async (publicKey: string, identity = newPhone().deviceKey.publicKey) => {
    const userKey = { type: "device", publicKey, device: { publicKey: identity, name: "Sly" } };
    const body = { request: { ...(await logIn(owner.email)), chainName }, userKey };
    return call("POST", "/auth/v1/signin/2fa", { body });
  };

  it("is not enrolled again: the account's own, as account key or as identity", async () => {
    const known = { status: 409, body: { error: "KeyAlreadyRegistered" } };
    expect(await askWith(owner.deviceKey.publicKey)).toMatchObject(known);
    expect(await askWith(newPhone().deviceKey.publicKey, owner.deviceKey.publicKey)).toMatchObject(known);
  });

  it("is not enrolled as a user key: the server's own", async () => {
    const server = await access.accountKey(owner.address, 0);
    const asked = await askWith(server.publicKey);
    expect(asked.status).toBe(200);
    const { id, request } = asked.body.twoFactorAuth;
    const signature = bytesToHex(await owner.deviceKey.sign(hexToBytes(request.message)));
    expect(await approve(id, { signature })).toMatchObject({ status: 403, body: { error: "SigningRefused" } });
    expect((await owner.client.twoFactor(id)).status).toBe("pending");
  });

  it("is refused by the chain in the disguise of its negation, and the request has failed", async () => {
    // The signer itself would refuse the approver's own key.
    const { deviceKey } = newPhone();
    await sendKeyAddition(owner.client, { network, userKey: deviceKey });
    const { publicKey } = deviceKey;
    const prime = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
    const y = prime - BigInt(`0x${publicKey.slice(64)}`);
    const asked = await askWith(publicKey.slice(0, 64) + y.toString(16).padStart(64, "0"));
    expect(asked.status).toBe(200);
    const { id, request } = asked.body.twoFactorAuth;
    const signature = bytesToHex(await owner.deviceKey.sign(hexToBytes(request.message)));
    expect((await approve(id, { signature })).status).toBe(204);
    await expect.poll(async () => (await owner.client.twoFactor(id)).status, { timeout: 20_000 }).toBe("failed");
    const token = asked.body.ephemeralAccessToken;
    const finished = await call("POST", "/auth/v1/signin/2fa/finish", { token, body: { twoFactorAuthRequestId: id } });
    expect(finished).toMatchObject({ body: { error: "TwoFactorAuthFailed" } });
  });
});

describe("a message that is not the current one", () => {
  const sign = async (message: string) => bytesToHex(await owner.deviceKey.sign(hexToBytes(message)));
  const renewed = { status: 409, body: { error: "MessageRenewed" } };

  it("is of no use once the server key's sequence number has moved, and is renewed when it is read", async () => {
    const newDevice = await ask(owner);
    const { id, request: before } = newDevice.asked.twoFactorAuth;
    await sendKeyAddition(owner.client, { network, userKey: newPhone().deviceKey });
    expect(await approve(id, { signature: await sign(before.message) }), "not looked at yet").toMatchObject(renewed);
    const { request } = await owner.client.twoFactor(id);
    expect(request.id).not.toBe(before.id);
    expect(readKeyAddition(request.message).publicKey).toBe(newDevice.deviceKey.publicKey);
    expect(await approve(id, { signature: await sign(before.message) })).toMatchObject(renewed);
    expect(await approve(before.id, { signature: await sign(request.message) })).toMatchObject(renewed);
    expect((await approve(request.id, { signature: await sign(request.message) })).status).toBe(204);
    // The new device knows the first id only: it is good for finishing.
    const twoFactorAuth = { ...newDevice.asked.twoFactorAuth, id: before.id };
    await newDevice.client.waitForTwoFactor({ ...newDevice.asked, twoFactorAuth });
  });

  it("is of no use once the chain does not take its reference block any more, and is renewed when it is read", async () => {
    const newDevice = await ask(owner);
    const before = newDevice.asked.twoFactorAuth;
    const { request } = before;
    // Making a block old takes the emulator a minute; one that no node knows is as old as can be.
    const current = decodeMessage(hexToBytes(request.message));
    const old = Buffer.from(payloadMessage({ ...current, referenceBlockId: "ab".repeat(32) }));
    await query("device", "UPDATE two_factor SET message = $2 WHERE id = $1", [before.id, old]);
    await query("device", "UPDATE two_factor_message SET message = $2 WHERE message_id = $1", [request.id, old]);
    const signature = await sign(bytesToHex(old));
    expect(await approve(before.id, { signature }), "not looked at yet").toMatchObject(renewed);

    const after = await owner.client.twoFactor(before.id);
    expect(after.request.id).not.toBe(request.id);
    expect(after.request.requestedAt).toBe(request.requestedAt);
    expect(after).toMatchObject({ id: before.id, expiresAt: before.expiresAt });
    expect(await approve(before.id, { signature })).toMatchObject(renewed);
    expect((await approve(before.id, { signature: await sign(after.request.message) })).status).toBe(204);
    await newDevice.client.waitForTwoFactor(newDevice.asked);
  });
});
