import { AppError } from "@countersign/core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { GOOD_REQUESTS, SAMPLE_KEYS } from "../testing/samples.ts";
import { startTestGateway, type TestGateway } from "../testing/test-gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());
beforeEach(() => {
  gateway.calls.length = 0;
});

describe("keys", () => {
  const signUp = (userKey: object) =>
    gateway.send("POST", "/auth/v1/signup", { body: { ...GOOD_REQUESTS.signUp!.body, userKey } });
  const seenKey = () =>
    gateway.calls[0]!.request.userKey as Record<"accountKey" | "deviceKey", { algorithm: number; bytes: Buffer }>;

  it.each([
    SAMPLE_KEYS.p256.toUpperCase(),
    `0x${SAMPLE_KEYS.p256}`,
    `04${SAMPLE_KEYS.p256}`,
    SAMPLE_KEYS.p256Compressed,
  ])("are brought into one form: %s", async (publicKey) => {
    await signUp({ type: "device", publicKey, device: {} });
    expect(seenKey().accountKey.bytes.toString("hex")).toBe(SAMPLE_KEYS.p256);
    expect(seenKey().deviceKey).toEqual(seenKey().accountKey);
  });

  it("may be another one for the device", async () => {
    const device = { publicKey: SAMPLE_KEYS.ed25519 };
    await signUp({ type: "device", publicKey: SAMPLE_KEYS.secp256k1, algorithm: "ES256K", device });
    expect(seenKey()).toMatchObject({ accountKey: { algorithm: 2 }, deviceKey: { algorithm: 3 } });
  });

  it("of the device follow the account key's algorithm, else are of P-256", async () => {
    for (const [publicKey, algorithm] of [
      ["", 2],
      [SAMPLE_KEYS.secp256k1.toUpperCase(), 2],
      [SAMPLE_KEYS.p256, 1],
    ] as const) {
      gateway.calls.length = 0;
      await signUp({ type: "device", publicKey: SAMPLE_KEYS.secp256k1, algorithm: "ES256K", device: { publicKey } });
      expect(seenKey().deviceKey.algorithm).toBe(algorithm);
    }
  });

  it.each([
    [{ publicKey: SAMPLE_KEYS.secp256k1 }, "/userKey/publicKey"],
    [{ publicKey: "zz" }, "/userKey/publicKey"],
    [{ publicKey: "00".repeat(64) }, "/userKey/publicKey"],
    [{ publicKey: SAMPLE_KEYS.p256, device: { publicKey: "00" } }, "/userKey/device/publicKey"],
  ])("must be points of their curve: %j", async (userKey, pointer) => {
    const answer = await signUp({ type: "device", device: {}, ...userKey });
    expect(answer).toMatchObject({ status: 400, json: { error: "InvalidPublicKey", errors: [{ pointer }] } });
  });

  it.each([
    ["DER", `3059301306072a8648ce3d020106082a8648ce3d03010703420004${SAMPLE_KEYS.p256}`, "bare point"],
    ["a digit too few", SAMPLE_KEYS.p256.slice(1), "127 digits"],
    ["a long text", "a".repeat(300), "Too long"],
  ])("say which lengths are taken: %s", async (_, publicKey, problem) => {
    const answer = await signUp({ type: "device", device: {}, publicKey });
    const detail = expect.stringMatching(new RegExp(`${problem}.*128 digits.*130.*66.*64`));
    expect(answer).toMatchObject({ status: 400, json: { errors: [{ pointer: "/userKey/publicKey", detail }] } });
  });

  it("in a path may be of either curve", async () => {
    const path = `/device/v1/devices/0x${SAMPLE_KEYS.secp256k1}`;
    expect(await gateway.send("PUT", path, { token: "full", body: {} })).toMatchObject({ status: 200 });
    expect(await gateway.send("PUT", "/device/v1/devices/nope", { token: "full", body: {} })).toMatchObject({
      status: 400,
      json: { error: "InvalidPublicKey" },
    });
    const typo = `/device/v1/devices/${SAMPLE_KEYS.p256.slice(0, -1)}0`;
    expect(await gateway.send("PUT", typo, { token: "full", body: {} })).toMatchObject({
      status: 400,
      json: { detail: "not a point of the curve of ES256" },
    });
  });
});

describe("sign-up", () => {
  const { body } = GOOD_REQUESTS.signUp!;
  const signUp = (headers: Record<string, string>) => gateway.send("POST", "/auth/v1/signup", { body, headers });

  it.each([
    ["abc-123", "abc-123"],
    ['"abc 123"', "abc 123"],
  ])("takes the idempotency key %s", async (header, key) => {
    await signUp({ "idempotency-key": header });
    expect(gateway.calls[0]!.request.idempotencyKey).toBe(key);
  });

  it.each(["two words", "x".repeat(256), '"open'])("refuses the idempotency key %s", async (header) => {
    expect(await signUp({ "idempotency-key": header })).toMatchObject({
      status: 400,
      json: { error: "InvalidRequest" },
    });
  });

  it("passes login and device on whole", async () => {
    const extras = { provider: "p", redirectUri: "http://localhost/cb", codeVerifier: "v", nonce: "n" };
    const device = {
      pushToken: "1",
      name: "2",
      osName: "3",
      osVersion: "4",
      deviceManufacturer: "5",
      deviceModel: "6",
      lang: "7",
      type: "desktop",
      sdkVersion: "8",
    };
    const userKey = { type: "passkey", publicKey: SAMPLE_KEYS.p256, device, app: { appId: "ignored" } };
    await gateway.send("POST", "/auth/v1/signup", {
      body: { ...body, ...extras, method: "redirect_code_channel", userKey },
    });
    expect(gateway.calls[0]!.request).toMatchObject({
      login: { method: 2, token: "an-id-token", ...extras },
      chainName: "flow-emulator",
      userKey: { type: 2, device },
      idempotencyKey: "",
    });
    gateway.calls.length = 0;
    await gateway.send("POST", "/auth/v1/signup", { body });
    expect(gateway.calls[0]!.request).toMatchObject({
      login: { method: 1, provider: "", redirectUri: "", codeVerifier: "", nonce: "" },
      userKey: { type: 1, device: { name: "Phone", type: "mobile", pushToken: "", sdkVersion: "" } },
    });
  });

  it("passes a full session's token on, for a further chain", async () => {
    await signUp({ authorization: "bearer full" });
    expect(gateway.calls[0]!.options.onBehalfOf).toMatchObject({ rawToken: "full" });
  });
});

describe("sign-in", () => {
  it("asks for a challenge of a passkey, or of any passkey of a name", async () => {
    const ask = (change: object) => {
      const body = { ...GOOD_REQUESTS.issueChallenge!.body, challengeType: "passKey", ...change };
      return gateway.send("POST", "/auth/v1/signin/challenge", { body });
    };
    await ask({ publicKey: undefined, passKey: { username: "ada@example.com" } });
    expect(gateway.calls.at(-1)!.request).toMatchObject({ challengeType: 2, passkeyUsername: "ada@example.com" });
    expect((gateway.calls.at(-1)!.request as { publicKey?: unknown }).publicKey).toBeUndefined();
    await ask({ passKey: { username: "ada@example.com" } });
    expect(gateway.calls.at(-1)!.request).toMatchObject({ publicKey: expect.anything(), passkeyUsername: "" });
    await ask({ publicKey: "", passKey: { username: "ada@example.com" } });
    expect(gateway.calls.at(-1)!.request).toMatchObject({ passkeyUsername: "ada@example.com" });
    for (const change of [{ publicKey: undefined }, { publicKey: undefined, passKey: { username: "" } }]) {
      expect(await ask(change)).toMatchObject({ status: 400, json: { errors: [{ pointer: "/publicKey" }] } });
    }
    const asDevice = { challengeType: "deviceKey", publicKey: undefined, passKey: { username: "ada@example.com" } };
    expect(await ask(asDevice)).toMatchObject({ status: 400, json: { errors: [{ pointer: "/publicKey" }] } });
  });

  it("passes a passkey's answer on as bytes, however it was written", async () => {
    const json = '{"type":"webauthn.get"}';
    const [authenticatorData, signature] = [Buffer.alloc(37, 0xfb), Buffer.alloc(70, 0xff)];
    const respond = (passKey: object) => {
      const body = { challengeType: "passKey", challengeData: "ab".repeat(16), passKey };
      return gateway.send("POST", "/auth/v1/signin/challenge/respond", { body });
    };
    for (const form of ["base64", "base64url"] as const) {
      const text = { authenticatorData: authenticatorData.toString(form), signature: signature.toString(form) };
      for (const clientDataJSON of [json, Buffer.from(json).toString(form)]) {
        expect(await respond({ clientDataJSON, ...text })).toMatchObject({ status: 200 });
        expect(gateway.calls.at(-1)!.request).toEqual({
          challengeType: 2,
          challengeData: Buffer.alloc(16, 0xab),
          passkey: { clientDataJson: Buffer.from(json), authenticatorData, signature },
        });
      }
    }
    const missing = { challengeType: "passKey", challengeData: "ab".repeat(16), deviceKey: { signature: "ab" } };
    expect(await gateway.send("POST", "/auth/v1/signin/challenge/respond", { body: missing })).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: "/passKey" }] },
    });
  });

  it.each([
    ["POST", "/auth/v1/signup", "signUp", ""],
    ["POST", "/auth/v1/signin/challenge", "issueChallenge", "/request"],
    ["POST", "/auth/v1/signin/2fa", "requestTwoFactor", "/request"],
  ])("%s %s names the members of a login as the body has them", async (method, path, operationId, parent) => {
    const fields = ["/login/redirectUri", "/userKey", "/loginName"].map((pointer) => ({ pointer, detail: "Required" }));
    gateway.fail(new AppError("InvalidRequest", { detail: "redirectUri is missing", fields }));
    const answer = await gateway.send(method, path, { body: GOOD_REQUESTS[operationId]!.body });
    expect(answer).toMatchObject({ status: 400, json: { detail: "redirectUri is missing" } });
    const pointers = (answer.json.errors as { pointer: string }[]).map(({ pointer }) => pointer);
    expect(pointers).toEqual([`${parent}/redirectUri`, "/userKey", "/loginName"]);
  });

  it("does without a login token only where development says so", async () => {
    const lenient = await startTestGateway({ requireLoginToken: false });
    const body = { ...GOOD_REQUESTS.issueChallenge!.body, request: { chainName: "flow-emulator" } };
    expect(await lenient.send("POST", "/auth/v1/signin/challenge", { body })).toMatchObject({ status: 200 });
    await lenient.stop();
  });
});

describe("resources", () => {
  it("are in the form of the contract", async () => {
    const { json } = await gateway.send("GET", "/account/v1/me", { token: "full" });
    expect(json.account).toMatchObject({
      addresses: [{ address: "0x01cf0e2f2f715450", chainId: 646, domainName: "" }],
      parent: [],
      createdAt: "2026-11-20T10:00:00.000Z",
    });
    const parent = await gateway.send("POST", "/account/v1/parent", { token: "full" });
    const { updatedAt: _, ...linked } = json.account as Record<string, unknown>;
    expect(parent.json).toEqual({ account: linked });
    const keys = await gateway.send("GET", "/key/v1/keys?include_revoked=true", { token: "full" });
    expect(gateway.calls.at(-1)!.request).toEqual({ includeRevoked: true });
    expect(keys.json.keys).toMatchObject([
      { type: "user-key", recoverKey: null, userKey: { type: "device", device: { pushToken: "" } }, revokedAt: "" },
      {
        type: "recover-key",
        userKey: null,
        recoverKey: { cloudKey: { accountName: "ada" } },
        pending: true,
        keyIndex: -1,
      },
    ]);
    const signed = await gateway.send("POST", "/sign/v1/cadence/paymaster", {
      token: "full",
      body: { message: "0xABCD" },
    });
    expect(signed.json).toEqual({ signature: { addr: "0x01cf0e2f2f715450", keyId: 2, signature: "ab".repeat(64) } });
    expect(gateway.calls.at(-1)!.request.message).toEqual(Buffer.from([0xab, 0xcd]));
  });

  it("are changed only where the body says so", async () => {
    await gateway.send("PUT", GOOD_REQUESTS.updateDevice!.path!, { token: "full", body: { lang: "", pushToken: "t" } });
    const publicKey = Buffer.from(SAMPLE_KEYS.p256, "hex");
    expect(gateway.calls[0]!.request).toEqual({ publicKey, lang: "", pushToken: "t" });
  });

  it("refuse a query that is not true or false", async () => {
    for (const query of ["yes", "true&include_revoked=false", ""]) {
      const answer = await gateway.send("GET", `/key/v1/keys?include_revoked=${query}`, { token: "full" });
      expect(answer).toMatchObject({ status: 400, json: { errors: [{ pointer: "/include_revoked" }] } });
    }
  });
});
