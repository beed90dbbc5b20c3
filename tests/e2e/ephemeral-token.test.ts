import type { TwoFactorRequested } from "@countersign/client";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { query, read, realTokenKey, signJwt } from "../security/token-forge.ts";
import { chainName, logIn, newPhone, type Person, type Phone, signUpPerson, stack } from "../support/person.ts";
import { call } from "../support/raw-request.ts";

interface NewDevice extends Phone {
  asked: TwoFactorRequested;
}

let owner: Person;
beforeAll(async () => {
  owner = await signUpPerson();
});

async function ask(): Promise<NewDevice> {
  const phone = newPhone();
  const login = await logIn(owner.email);
  return { ...phone, asked: await phone.client.requestTwoFactor({ login, chainName }) };
}

const codeOf = ({ client }: NewDevice): string => client.matchingCode();
const idOf = ({ asked }: NewDevice): string => asked.twoFactorAuth.id;
const messageOf = ({ asked }: NewDevice): string => asked.twoFactorAuth.request.message;
const sign = (token: string, message: string) =>
  call("POST", "/sign/v1/cadence/transaction", { token, body: { message } });
/** Asked as often as it may be. */
async function finish(token: string, id: string) {
  for (;;) {
    const answer = await call("POST", "/auth/v1/signin/2fa/finish", { token, body: { twoFactorAuthRequestId: id } });
    if (answer.status !== 429) return answer;
    await new Promise((resolve) => setTimeout(resolve, Number(answer.headers["retry-after"]) * 1000 + 50));
  }
}

describe("the ephemeral token of a request that is over", () => {
  const { ca, clients } = stack.tls;
  const address = stack.processes.signer!.grpc!;
  const tls = loadTls({ ca, ...clients["demo-backend"]! });
  const signer = createRpcClient(SigningService, { address, tls, serverName: "signer", deadlineMs: 3000 });
  afterAll(() => signer.close());

  /** Both ways to the signer refuse it within two seconds of this moment, before it was ever used. */
  async function expectUseless({ asked }: NewDevice): Promise<void> {
    const { ephemeralAccessToken: token, twoFactorAuth } = asked;
    const { message } = twoFactorAuth.request;
    await expect.poll(async () => (await sign(token, message)).status, { timeout: 2_000, interval: 500 }).toBe(401);
    const direct = signer.signTransaction({ message: Buffer.from(message, "hex"), chainName }, { token });
    await expect(direct).rejects.toMatchObject({ reason: "SessionEnded" });
    const paymaster = signer.signPaymaster({ message: Buffer.from(message, "hex"), chainName }, { token });
    await expect(paymaster).rejects.toMatchObject({ reason: "SessionEnded" });
  }

  it("signs nothing any more once it was rejected, and finishing says so", async () => {
    const newDevice = await ask();
    const { ephemeralAccessToken: token } = newDevice.asked;
    expect((await sign(token, messageOf(newDevice))).status, "while it waits").toBe(200);
    await owner.client.rejectTwoFactor(idOf(newDevice));
    await expectUseless(newDevice);
    const answer = await finish(token, idOf(newDevice));
    expect(answer).toMatchObject({ status: 403, body: { error: "TwoFactorAuthRejected" } });
    await owner.client.reopenTwoFactor();
  });

  it("signs nothing after it has expired, and finishing says so; the devices are notified", async () => {
    const newDevice = await ask();
    const seen: string[] = [];
    const abort = new AbortController();
    const following = (async () => {
      for await (const { type, data } of owner.client.events({ signal: abort.signal, lastEventId: "0" })) {
        if ("id" in data && data.id === idOf(newDevice)) seen.push(type);
      }
    })();
    await expect.poll(() => seen).toEqual(["two-factor.requested"]);
    // Only this request expires, as after five minutes.
    await query("device", "UPDATE two_factor SET expires_at = now() WHERE id = $1", [idOf(newDevice)]);
    await expect.poll(() => seen).toEqual(["two-factor.requested", "two-factor.expired"]);
    await expectUseless(newDevice);
    const answer = await finish(newDevice.asked.ephemeralAccessToken, idOf(newDevice));
    expect(answer).toMatchObject({ status: 410, body: { error: "TwoFactorAuthExpired" } });
    const late = owner.client.approveTwoFactor(idOf(newDevice), { matchingCode: codeOf(newDevice) });
    await expect(late).rejects.toMatchObject({ error: "TwoFactorAuthNotPending" });
    abort.abort();
    await following;
  });

  it("signs nothing any more once it was finished, and the session that it opened goes on", async () => {
    const newDevice = await ask();
    const { ephemeralAccessToken: token } = newDevice.asked;
    await owner.client.approveTwoFactor(idOf(newDevice), { matchingCode: codeOf(newDevice) });
    await newDevice.client.waitForTwoFactor(newDevice.asked);
    await expectUseless(newDevice);
    expect(await finish(token, idOf(newDevice))).toMatchObject({
      status: 409,
      body: { error: "TwoFactorAuthFinished" },
    });
    expect((await newDevice.client.me()).id).toBe(owner.signedUp.account.id);
  });

  it("opens nothing once its own five minutes are over", async () => {
    const newDevice = await ask();
    const { ephemeralAccessToken } = newDevice.asked;
    const { header, claims } = read(ephemeralAccessToken);
    expect(Number(claims.exp) - Number(claims.iat)).toBeGreaterThanOrEqual(299);
    expect(Number(claims.exp) - Number(claims.iat)).toBeLessThanOrEqual(300);
    const now = Math.floor(Date.now() / 1000);
    const { privateKey } = await realTokenKey();
    const token = signJwt(header, { ...claims, iat: now - 301, exp: now - 1 }, privateKey);
    const expired = { status: 401, body: { error: "AccessTokenExpired" } };
    expect(await sign(token, messageOf(newDevice))).toMatchObject(expired);
    expect(await finish(token, idOf(newDevice))).toMatchObject(expired);
    expect((await sign(ephemeralAccessToken, messageOf(newDevice))).status, "the one that is not").toBe(200);

    // It ends together with its request: asked a moment later, finishing still says what became of that.
    await query("device", "UPDATE two_factor SET expires_at = now() WHERE id = $1", [idOf(newDevice)]);
    await expect.poll(async () => (await owner.client.twoFactor(idOf(newDevice))).status).toBe("expired");
    expect(await finish(token, idOf(newDevice))).toMatchObject({
      status: 410,
      body: { error: "TwoFactorAuthExpired" },
    });
    const longAgo = signJwt(header, { ...claims, iat: now - 601, exp: now - 301 }, privateKey);
    expect(await finish(longAgo, idOf(newDevice))).toMatchObject(expired);
  });

  it("signs its message three times, and then no more", async () => {
    const newDevice = await ask();
    const { ephemeralAccessToken: token } = newDevice.asked;
    const answers = await Promise.all(Array.from({ length: 6 }, () => sign(token, messageOf(newDevice))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 403, 403, 403]);
  });
});
