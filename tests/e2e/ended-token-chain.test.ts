import { expect, it } from "vitest";
import { read, realTokenKey, signJwt } from "../security/token-forge.ts";
import { chainName, logIn, newPhone, signUpPerson } from "../support/person.ts";
import { call } from "../support/raw-request.ts";

const BLOCKS = `/chain/v1/${chainName}/v1/blocks?height=sealed`;

it("the ephemeral token of a rejected request reads no chain and submits nothing through the gateway", async () => {
  const owner = await signUpPerson();
  const phone = newPhone();
  const asked = await phone.client.requestTwoFactor({ login: await logIn(owner.email), chainName });
  const token = asked.ephemeralAccessToken;
  expect((await call("GET", BLOCKS, { token })).status, "while it waits").toBe(200);
  await owner.client.rejectTwoFactor(asked.twoFactorAuth.id);
  const { message } = asked.twoFactorAuth.request;
  const sign = () => call("POST", "/sign/v1/cadence/transaction", { token, body: { message } });
  await expect.poll(async () => (await sign()).status, { timeout: 10_000, interval: 500 }).toBe(401);
  const after = await call("GET", BLOCKS, { token });
  expect(after, "after the rejection").toMatchObject({ status: 401, body: { error: "SessionEnded" } });
});

it("an expired ephemeral token reads no chain through the gateway", async () => {
  const owner = await signUpPerson();
  const phone = newPhone();
  const asked = await phone.client.requestTwoFactor({ login: await logIn(owner.email), chainName });
  const { header, claims } = read(asked.ephemeralAccessToken);
  const now = Math.floor(Date.now() / 1000);
  const { privateKey } = await realTokenKey();
  const token = signJwt(header, { ...claims, iat: now - 301, exp: now - 1 }, privateKey);
  expect(await call("GET", BLOCKS, { token })).toMatchObject({ status: 401, body: { error: "AccessTokenExpired" } });
});
