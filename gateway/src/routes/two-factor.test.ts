import { AppError } from "@countersign/core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { GOOD_REQUESTS, SAMPLE_KEYS } from "../testing/samples.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

const path = GOOD_REQUESTS.getTwoFactor!.path!;
const id = path.split("/").at(-1)!;
const token = "full";
const when = "2026-11-20T10:00:00.000Z";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.calls.length = 0;
});

const device = {
  id: "0197a1b2-0000-7000-8000-000000000002",
  publicKey: SAMPLE_KEYS.p256,
  algorithm: "ES256",
  sdkVersion: "",
  pushToken: "",
  name: "",
  osName: "",
  osVersion: "",
  deviceManufacturer: "",
  deviceModel: "",
  lang: "",
  type: "mobile",
  createdAt: when,
  lastUsedAt: "",
};
const pending = {
  id,
  accountId: "0197a1b2-0000-7000-8000-000000000001",
  request: {
    id: "d9428888-122b-4f5e-8a70-000000000004",
    app: { appId: "demo", appName: "Demo wallet" },
    userOpInfo: { type: "sign-in", signIn: { email: "ada@example.com", ip: "192.0.2.7", location: "" } },
    srcDevice: device,
    destDevice: null,
    message: "464c4f57",
    requestedAt: when,
  },
  status: "pending",
  extra: null,
  result: { txId: "" },
  expiresAt: when,
};

describe("a request for approval", () => {
  it("has every documented field", async () => {
    const { json } = await gateway.send("GET", path, { token });
    expect(json).toEqual({ twoFactorAuth: pending });
    const listed = await gateway.send("GET", "/device/v1/2fa", { token });
    expect(listed.json.twoFactorAuths).toEqual([
      pending,
      {
        ...pending,
        request: { ...pending.request, destDevice: device },
        status: "finished",
        result: { txId: "ab".repeat(32) },
      },
    ]);
  });

  it("is named by a UUID in either case", async () => {
    await gateway.send("GET", path.toUpperCase().replace("/DEVICE/V1/2FA", "/device/v1/2fa"), { token });
    expect(gateway.calls[0]!.request).toEqual({ id });
  });

  it("of any other name is passed on, and the service rejects it", async () => {
    for (const name of ["x", `${id}0`, `${id}\0`, "é", "..%2F..", "1".repeat(300)]) {
      await gateway.send("DELETE", `/device/v1/2fa/${encodeURIComponent(name)}`, { token });
      expect(gateway.calls.at(-1), name).toMatchObject({ rpc: "rejectTwoFactor", request: { id: name.toLowerCase() } });
    }
    expect((await gateway.send("DELETE", "/device/v1/2fa/reopen", { token })).status).toBe(405);
    expect((await gateway.send("DELETE", "/device/v1/2fa/%zz", { token })).status).toBe(400);
  });

  it("is found by its state", async () => {
    await gateway.send("GET", "/device/v1/2fa?status=pending", { token });
    await gateway.send("GET", "/device/v1/2fa", { token });
    expect(gateway.calls.map(({ request }) => request.status)).toEqual([1, 0]);
    for (const status of ["PENDING", "", "open", "pending&status=failed"]) {
      const answer = await gateway.send("GET", `/device/v1/2fa?status=${status}`, { token });
      expect(answer).toMatchObject({ status: 400, json: { errors: [{ pointer: "/status" }] } });
    }
  });

  it("goes to another device", async () => {
    await gateway.send("PUT", path, { token, body: { destDeviceId: device.id } });
    expect(gateway.calls[0]).toMatchObject({ rpc: "redirectTwoFactor", request: { id, destDeviceId: device.id } });
  });
});

describe("an approval", () => {
  const approve = (body: object) => gateway.send("POST", `${path}/approve`, { token, body });

  it("names a transaction, in any form of hex", async () => {
    for (const txId of ["ab".repeat(32), `0x${"AB".repeat(32)}`]) {
      expect(await approve({ txId })).toMatchObject({ status: 204, text: "" });
      expect(gateway.calls.at(-1)!.request).toEqual({ id, txId: "ab".repeat(32) });
    }
  });

  it("or carries a signature", async () => {
    expect((await approve({ signature: "cd".repeat(64) })).status).toBe(204);
    const empty = Buffer.alloc(0);
    expect(gateway.calls[0]!.request).toEqual({
      id,
      signature: { signature: Buffer.alloc(64, 0xcd), clientDataJson: empty, authenticatorData: empty },
    });
  });

  it("with what a passkey signed, as JSON text or base64url", async () => {
    const json = '{"type":"webauthn.get"}';
    for (const clientDataJSON of [json, Buffer.from(json).toString("base64url")]) {
      await approve({ signature: "cd".repeat(70), clientDataJSON, authenticatorData: "_-8=" });
      const { signature } = gateway.calls.at(-1)!.request as { signature: Record<string, Buffer> };
      expect(signature.clientDataJson!.toString()).toBe(json);
      expect(signature.authenticatorData).toEqual(Buffer.from([0xff, 0xef]));
    }
  });

  it("is answered with the time to try again", async () => {
    gateway.fail(new AppError("TransactionPending", { retryAfterSeconds: 2 }));
    const answer = await approve({ txId: "ab".repeat(32) });
    expect(answer).toMatchObject({ status: 409, json: { error: "TransactionPending" } });
    expect(answer.headers.get("retry-after")).toBe("2");
  });
});

describe("a new device", () => {
  const { body } = GOOD_REQUESTS.requestTwoFactor!;

  it("asks with its login, its key and an idempotency key", async () => {
    const headers = { "idempotency-key": "once" };
    const answer = await gateway.send("POST", "/auth/v1/signin/2fa", { body, headers });
    expect(answer).toMatchObject({ status: 200, json: { twoFactorAuth: pending, ephemeralAccessToken: "ephemeral" } });
    expect(gateway.calls[0]!.request).toMatchObject({
      login: { method: 1, token: "an-id-token" },
      chainName: "flow-emulator",
      userKey: { accountKey: { algorithm: 1 }, deviceKey: { algorithm: 1 }, device: { name: "New phone" } },
      idempotencyKey: "once",
    });
  });

  it("needs a login token also where a challenge does without", async () => {
    const lenient = await startTestGateway({ requireLoginToken: false });
    const answer = await lenient.send("POST", "/auth/v1/signin/2fa", {
      body: { ...body, request: { chainName: "flow-emulator" } },
    });
    expect(answer.status).toBe(400);
    await lenient.stop();
  });

  it("finishes with its ephemeral token", async () => {
    const finish = GOOD_REQUESTS.finishTwoFactor!;
    const answer = await gateway.send("POST", "/auth/v1/signin/2fa/finish", { token: "sign", body: finish.body });
    expect(answer).toMatchObject({ status: 200, json: { credentials: { accessToken: "access" } } });
    expect(gateway.calls[0]!.request).toEqual({ twoFactorAuthRequestId: id });
    expect(gateway.calls[0]!.options.onBehalfOf.rawToken).toBe("sign");
  });
});
