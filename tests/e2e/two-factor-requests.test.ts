import { sendKeyAddition, sendTransaction } from "@countersign/client";
import { bytesToHex, hexToBytes } from "@countersign/keys";
import { beforeAll, describe, expect, it } from "vitest";
import { NOTHING, network, newPhone, problemOf } from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { ask, codeOf, enroll, finish, idOf, otherPerson, owner, raw } from "./two-factor-new-devices.ts";

// A second phone, which may be asked instead.
beforeAll(async () => {
  await enroll(await ask(owner), owner);
});

describe("a request", () => {
  it("that is rejected stays rejected", async () => {
    const newDevice = await ask(owner);
    await owner.client.rejectTwoFactor(idOf(newDevice));
    const work = owner.client.approveTwoFactor(idOf(newDevice), { matchingCode: codeOf(newDevice) });
    expect(await problemOf(work)).toMatchObject({ status: 409, error: "TwoFactorAuthNotPending" });
    // Again by the same device: its first answer may have got lost.
    await owner.client.rejectTwoFactor(idOf(newDevice));
    expect(await problemOf(finish(newDevice))).toMatchObject({ status: 403, error: "TwoFactorAuthRejected" });
    expect((await owner.client.twoFactor(idOf(newDevice))).status).toBe("rejected");
    expect(await owner.client.pendingTwoFactor()).toEqual([]);
    await owner.client.reopenTwoFactor();
  });

  it("closes after three rejections, until a device reopens", async () => {
    for (let rejection = 0; rejection < 3; rejection++) {
      await otherPerson.client.rejectTwoFactor(idOf(await ask(otherPerson)));
    }
    expect(await problemOf(ask(otherPerson))).toMatchObject({ status: 403, error: "TwoFactorAuthClosed" });
    await otherPerson.client.reopenTwoFactor();
    await otherPerson.client.rejectTwoFactor(idOf(await ask(otherPerson)));
  });

  it("that is redirected has a new message, and the earlier one is of no use", async () => {
    const newDevice = await ask(owner);
    const before = newDevice.asked.twoFactorAuth;
    const other = (await owner.client.devices()).find(({ publicKey }) => publicKey !== owner.deviceKey.publicKey)!;
    const redirected = await owner.client.redirectTwoFactor(before.id, other.id);
    expect(redirected.id).toBe(before.id);
    expect(redirected.request.id).not.toBe(before.request.id);
    expect(redirected.request.destDevice?.id).toBe(other.id);
    expect(redirected.expiresAt).toBe(before.expiresAt);
    expect((await owner.client.twoFactor(before.request.id)).request.id).toBe(redirected.request.id);

    const signature = bytesToHex(await owner.deviceKey.sign(hexToBytes(before.request.message)));
    const late = await raw(
      owner.client.credentials!.accessToken,
      "POST",
      `/device/v1/2fa/${before.request.id}/approve`,
      { signature },
    );
    expect(late).toMatchObject({ status: 409, body: { error: "MessageRenewed" } });

    const theirs = (await otherPerson.client.devices())[0]!.id;
    for (const id of [theirs, before.id]) {
      expect(await problemOf(owner.client.redirectTwoFactor(before.id, id))).toMatchObject({
        status: 404,
        error: "DeviceNotFound",
      });
    }
    await owner.client.rejectTwoFactor(before.id);
    await owner.client.reopenTwoFactor();
  });

  it("is not found by another account", async () => {
    const newDevice = await ask(owner);
    const { id, request } = newDevice.asked.twoFactorAuth;
    expect(await otherPerson.client.pendingTwoFactor()).toEqual([]);
    const own = (await otherPerson.client.devices())[0]!.id;
    const token = otherPerson.client.credentials!.accessToken;
    const signature = bytesToHex(await otherPerson.deviceKey.sign(hexToBytes(request.message)));
    for (const name of [id, request.id]) {
      const path = `/device/v1/2fa/${name}`;
      for (const answer of [
        await raw(token, "GET", path),
        await raw(token, "PUT", path, { destDeviceId: own }),
        await raw(token, "DELETE", path),
        await raw(token, "POST", `${path}/approve`, { signature }),
        await raw(token, "POST", `${path}/approve`, { txId: "ab".repeat(32) }),
      ]) {
        expect(answer).toMatchObject({ status: 404, body: { error: "TwoFactorAuthNotFound" } });
      }
    }
    expect((await owner.client.twoFactor(id)).status).toBe("pending");
    await owner.client.rejectTwoFactor(id);
    await owner.client.reopenTwoFactor();
  });

  it("is approved only by the right signature or transaction", async () => {
    const newDevice = await ask(owner);
    const token = owner.client.credentials!.accessToken;
    const path = `/device/v1/2fa/${idOf(newDevice)}/approve`;
    const message = hexToBytes(newDevice.asked.twoFactorAuth.request.message);
    const theirs = bytesToHex(await newDevice.deviceKey.sign(message));
    expect(await raw(token, "POST", path, { signature: theirs })).toMatchObject({
      status: 401,
      body: { error: "InvalidSignature" },
    });
    const other = await sendTransaction(owner.client, { network, cadence: NOTHING });
    const key = newPhone().deviceKey;
    const foreign = await sendKeyAddition(owner.client, { network, userKey: key });
    for (const { id } of [other, foreign, owner.signedUp.transaction]) {
      expect(await raw(token, "POST", path, { txId: id })).toMatchObject({
        status: 422,
        body: { error: "TransactionMismatch" },
      });
    }
    const wrongCode = owner.client.approveTwoFactor(idOf(newDevice), {
      matchingCode: owner.client.matchingCode(),
    });
    await expect(wrongCode).rejects.toMatchObject({ name: "MatchingCodeError" });
    expect((await owner.client.twoFactor(idOf(newDevice))).status).toBe("pending");
    await owner.client.rejectTwoFactor(idOf(newDevice));
    await owner.client.reopenTwoFactor();
  });
});

describe("the ephemeral token", () => {
  it("opens finishing its own request and signing its own message, and nothing else", async () => {
    const newDevice = await ask(owner);
    const other = await ask(owner);
    const { ephemeralAccessToken: token, twoFactorAuth } = newDevice.asked;
    const { body: document } = await call("GET", "/openapi.json");
    const operations = Object.entries(document.paths as Record<string, Record<string, { security: object[] }>>).flatMap(
      ([path, methods]) => Object.entries(methods).map(([method, { security }]) => ({ path, method, security })),
    );
    const mayOpen = (path: string) => path.startsWith("/sign/") || path === "/auth/v1/signin/2fa/finish";
    // Where a token is optional, one that does not count is ignored: see sign-up.test.ts.
    const needsToken = (security: object[]) => security.length > 0 && security.every((each) => Object.keys(each)[0]);
    const closed = operations.filter(({ path, security }) => needsToken(security) && !mayOpen(path));
    expect(closed.length).toBeGreaterThan(15);
    for (const { method, path } of closed) {
      const filled = path.replace("{id}", twoFactorAuth.id).replace("{publicKey}", owner.deviceKey.publicKey);
      const answer = await raw(token, method.toUpperCase(), filled, method === "get" ? undefined : {});
      expect(answer, `${method} ${path}`).toMatchObject({ status: 403, body: { error: "InsufficientScope" } });
    }

    const sign = (message: string) => raw(token, "POST", "/sign/v1/cadence/transaction", { message });
    for (const message of [other.asked.twoFactorAuth.request.message]) {
      expect(await sign(message)).toMatchObject({
        status: 403,
        body: { error: "SigningRefused", reason: "OutsideEphemeralScope" },
      });
    }
    expect((await sign(twoFactorAuth.request.message)).status).toBe(200);
    const elsewhere = newDevice.client.finishTwoFactor(idOf(other), token);
    expect(await problemOf(elsewhere)).toMatchObject({ status: 403, error: "InsufficientScope" });
    const full = newDevice.client.finishTwoFactor(twoFactorAuth.id, owner.client.credentials!.accessToken);
    expect(await problemOf(full)).toMatchObject({ status: 403, error: "InsufficientScope" });
    for (const each of [newDevice, other]) await owner.client.rejectTwoFactor(idOf(each));
    await owner.client.reopenTwoFactor();
  });
});

describe("a frozen account", () => {
  it("signs nothing and enrolls nobody, until the device that froze it and another one agree", async () => {
    const newDevice = await ask(owner);
    await enroll(newDevice, owner);
    await owner.client.freeze();
    const frozen = expect.objectContaining({ status: 403, error: "AccountFrozen" });
    await expect
      .poll(() => problemOf(sendTransaction(newDevice.client, { network, cadence: NOTHING })))
      .toEqual(frozen);
    expect(await problemOf(ask(owner))).toEqual(frozen);
    expect(await problemOf(owner.client.unfreeze())).toMatchObject({ status: 403, error: "TimeLockRequired" });
    await newDevice.client.unfreeze();
    await expect
      .poll(() =>
        sendTransaction(newDevice.client, { network, cadence: NOTHING }).then(
          () => "sealed",
          () => "refused",
        ),
      )
      .toBe("sealed");
  });
});
