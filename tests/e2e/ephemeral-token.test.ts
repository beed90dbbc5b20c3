import type { TwoFactorRequested } from "@countersign/client";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient } from "@countersign/rpc";
import { loadTls } from "@countersign/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { query, read, realTokenKey, signJwt } from "../security/token-forge.ts";
import { call, chainName, logIn, newPhone, type Person, type Phone, signUpPerson, stack } from "./person.ts";

interface Newcomer extends Phone {
  asked: TwoFactorRequested;
}

let owner: Person;
beforeAll(async () => {
  owner = await signUpPerson();
});

async function ask(): Promise<Newcomer> {
  const phone = newPhone();
  const login = await logIn(owner.email);
  return { ...phone, asked: await phone.client.requestTwoFactor({ login, chainName }) };
}

const codeOf = ({ client, asked }: Newcomer): Promise<string> => client.matchingCode(asked);
const idOf = ({ asked }: Newcomer): string => asked.twoFactorAuth.id;
const messageOf = ({ asked }: Newcomer): string => asked.twoFactorAuth.request.message;
const sign = (token: string, message: string) =>
  call("POST", "/sign/v1/cadence/transaction", { token, body: { message } });
/** Asked as often as it may be. */
async function finish(token: string, id: string) {
  for (;;) {
    const answer = await call("POST", "/auth/v1/signin/2fa/finish", { token, body: { twoFactorAuthRequestId: id } });
    if (answer.status !== 429) return answer;
    await new Promise((resolve) => setTimeout(resolve, Number(answer.headers.get("retry-after")) * 1000 + 50));
  }
}

describe("the ephemeral token of a request that is over", () => {
  const { ca, clients } = stack.tls;
  const address = stack.processes.signer!.grpc!;
  const tls = loadTls({ ca, ...clients["demo-backend"]! });
  const signer = createRpcClient(SigningService, { address, tls, serverName: "signer", deadlineMs: 3000 });
  afterAll(() => signer.close());

  /** Both ways to the signer refuse it within two seconds of this moment, before it was ever used. */
  async function expectUseless({ asked }: Newcomer): Promise<void> {
    const { ephemeralAccessToken: token, twoFactorAuth } = asked;
    const { message } = twoFactorAuth.request;
    await expect.poll(async () => (await sign(token, message)).status, { timeout: 2_000, interval: 500 }).toBe(401);
    const direct = signer.signTransaction({ message: Buffer.from(message, "hex"), chainName }, { token });
    await expect(direct).rejects.toMatchObject({ reason: "SessionEnded" });
    const paymaster = signer.signPaymaster({ message: Buffer.from(message, "hex"), chainName }, { token });
    await expect(paymaster).rejects.toMatchObject({ reason: "SessionEnded" });
  }

  it("signs nothing any more once it was rejected, and finishing says so", async () => {
    const newcomer = await ask();
    const { ephemeralAccessToken: token } = newcomer.asked;
    expect((await sign(token, messageOf(newcomer))).status, "while it waits").toBe(200);
    await owner.client.rejectTwoFactor(idOf(newcomer));
    await expectUseless(newcomer);
    const answer = await finish(token, idOf(newcomer));
    expect(answer).toMatchObject({ status: 403, body: { error: "TwoFactorAuthRejected" } });
    await owner.client.reopenTwoFactor();
  });

  it("signs nothing any more once it has expired, and finishing says so; the devices are told", async () => {
    const newcomer = await ask();
    const seen: string[] = [];
    const abort = new AbortController();
    const following = (async () => {
      for await (const { type, data } of owner.client.events({ signal: abort.signal, lastEventId: "0" })) {
        if (data.id === idOf(newcomer)) seen.push(type);
      }
    })();
    await expect.poll(() => seen).toEqual(["two-factor.requested"]);
    // Five minutes go by for this one only.
    await query("device", "UPDATE two_factor SET expires_at = now() WHERE id = $1", [idOf(newcomer)]);
    await expect.poll(() => seen, { timeout: 5_000 }).toEqual(["two-factor.requested", "two-factor.expired"]);
    await expectUseless(newcomer);
    const answer = await finish(newcomer.asked.ephemeralAccessToken, idOf(newcomer));
    expect(answer).toMatchObject({ status: 410, body: { error: "TwoFactorAuthExpired" } });
    const late = owner.client.approveTwoFactor(idOf(newcomer), { matchingCode: await codeOf(newcomer) });
    await expect(late).rejects.toMatchObject({ error: "TwoFactorAuthNotPending" });
    abort.abort();
    await following;
  });

  it("signs nothing any more once it was finished, and the session that it opened goes on", async () => {
    const newcomer = await ask();
    const { ephemeralAccessToken: token } = newcomer.asked;
    await owner.client.approveTwoFactor(idOf(newcomer), { matchingCode: await codeOf(newcomer) });
    await newcomer.client.waitForTwoFactor(newcomer.asked);
    await expectUseless(newcomer);
    expect(await finish(token, idOf(newcomer))).toMatchObject({
      status: 409,
      body: { error: "TwoFactorAuthFinished" },
    });
    expect((await newcomer.client.me()).id).toBe(owner.signedUp.account.id);
  });

  it("opens nothing once its own five minutes are over", async () => {
    const newcomer = await ask();
    const { ephemeralAccessToken } = newcomer.asked;
    const { header, claims } = read(ephemeralAccessToken);
    expect(Number(claims.exp) - Number(claims.iat)).toBeGreaterThanOrEqual(299);
    expect(Number(claims.exp) - Number(claims.iat)).toBeLessThanOrEqual(300);
    const now = Math.floor(Date.now() / 1000);
    const { privateKey } = await realTokenKey();
    const token = signJwt(header, { ...claims, iat: now - 301, exp: now - 1 }, privateKey);
    const expired = { status: 401, body: { error: "AccessTokenExpired" } };
    expect(await sign(token, messageOf(newcomer))).toMatchObject(expired);
    expect(await finish(token, idOf(newcomer))).toMatchObject(expired);
    expect((await sign(ephemeralAccessToken, messageOf(newcomer))).status, "the one that is not").toBe(200);

    // It ends together with its request: asked a moment later, finishing still says what became of that.
    await query("device", "UPDATE two_factor SET expires_at = now() WHERE id = $1", [idOf(newcomer)]);
    await expect.poll(async () => (await owner.client.twoFactor(idOf(newcomer))).status).toBe("expired");
    expect(await finish(token, idOf(newcomer))).toMatchObject({ status: 410, body: { error: "TwoFactorAuthExpired" } });
    const longAgo = signJwt(header, { ...claims, iat: now - 601, exp: now - 301 }, privateKey);
    expect(await finish(longAgo, idOf(newcomer))).toMatchObject(expired);
  });

  it("signs its message three times, and then no more", async () => {
    const newcomer = await ask();
    const { ephemeralAccessToken: token } = newcomer.asked;
    const answers = await Promise.all(Array.from({ length: 6 }, () => sign(token, messageOf(newcomer))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 403, 403, 403]);
  });
});
