import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { chainName, logIn, newPhone, type Person, type Phone, signUpPerson } from "../support/person.ts";
import { call } from "../support/raw-request.ts";

interface Asked {
  phone: Phone;
  id: string;
  requestId: string;
  message: string;
  srcDeviceId: string;
  ephemeral: string;
}

/** Returns the body of a 2FA request that a person's new phone sends. */
async function askBody(person: Person, { deviceKey }: Phone) {
  const { publicKey, algorithm } = deviceKey;
  const device = { name: "New phone", type: "mobile" };
  const userKey = { type: "device", publicKey, algorithm, device };
  return { request: { ...(await logIn(person.email)), chainName }, userKey };
}

async function ask(person: Person, phone: Phone = newPhone()): Promise<Asked> {
  const { status, body } = await call("POST", "/auth/v1/signin/2fa", { body: await askBody(person, phone) });
  expect(status, JSON.stringify(body)).toBe(200);
  return { phone, ...askedOf(body) };
}

const askedOf = ({ twoFactorAuth, ephemeralAccessToken }: Awaited<ReturnType<typeof call>>["body"]) => ({
  id: twoFactorAuth.id as string,
  requestId: twoFactorAuth.request.id as string,
  message: twoFactorAuth.request.message as string,
  srcDeviceId: twoFactorAuth.request.srcDevice.id as string,
  ephemeral: ephemeralAccessToken as string,
});

const finish = (token: string, id: string) =>
  call("POST", "/auth/v1/signin/2fa/finish", { token, body: { twoFactorAuthRequestId: id } });

/** Asks as often as it may, for as long as nobody has decided and the chain has not sealed. */
async function finishWithRetries(token: string, id: string) {
  for (;;) {
    const answer = await finish(token, id);
    if (answer.body.error !== "TwoFactorAuthPending" && answer.status !== 429) return answer;
    await sleep(Number(answer.headers["retry-after"]) * 1000 + 50);
  }
}

async function approve(person: Person, { requestId, message }: Asked): Promise<void> {
  const signature = Buffer.from(await person.deviceKey.sign(Buffer.from(message, "hex"))).toString("hex");
  const token = person.client.credentials!.accessToken;
  const { status, body } = await call("POST", `/device/v1/2fa/${requestId}/approve`, { token, body: { signature } });
  expect(status, JSON.stringify(body)).toBe(204);
}

describe("a new device", () => {
  it("requests enrollment, waits, is enrolled, and then signs in by challenge", async () => {
    const person = await signUpPerson();
    const asked = await ask(person);
    const early = await finish(asked.ephemeral, asked.requestId);
    expect(early).toMatchObject({ status: 409, body: { error: "TwoFactorAuthPending" } });
    expect(early.headers["retry-after"]).toBe("1");
    const tooSoon = await finish(asked.ephemeral, asked.id);
    expect(tooSoon).toMatchObject({ status: 429, body: { error: "RateLimited" } });
    expect(tooSoon.headers["retry-after"]).toBe("1");

    await approve(person, asked);
    const { status, body } = await finishWithRetries(asked.ephemeral, asked.requestId);
    expect(status, JSON.stringify(body)).toBe(200);
    expect(body.account.id).toBe(person.signedUp.account.id);
    expect(body.transaction.id).not.toBe(person.signedUp.transaction.id);
    const token = body.credentials.accessToken;
    expect(await call("GET", "/account/v1/me", { token })).toMatchObject({ status: 200 });
    const { devices } = (await call("GET", "/device/v1/devices", { token })).body;
    expect(devices.map(({ id }: { id: string }) => id)).toContain(asked.srcDeviceId);
    const { keys } = (await call("GET", "/key/v1/keys", { token })).body;
    expect(keys.map(({ keyIndex }: { keyIndex: number }) => keyIndex)).toEqual([1, 2]);

    await sleep(1_050);
    const again = await finish(asked.ephemeral, asked.id);
    expect(again).toMatchObject({ status: 409, body: { error: "TwoFactorAuthFinished" } });
    const signedIn = await asked.phone.client.signIn({ login: await logIn(person.email), chainName });
    expect(signedIn.transaction.id).toBe(body.transaction.id);
    const known = await call("POST", "/auth/v1/signin/2fa", { body: await askBody(person, asked.phone) });
    expect(known).toMatchObject({ status: 409, body: { error: "KeyAlreadyRegistered" } });
  });

  it("that never finishes is enrolled nevertheless, once the key is on chain", async () => {
    const person = await signUpPerson();
    const asked = await ask(person);
    const login = await logIn(person.email);
    const signIn = () => asked.phone.client.signIn({ login, chainName });
    await expect(signIn()).rejects.toMatchObject({ error: "PleaseRegisterKey" });
    await approve(person, asked);
    await expect
      .poll(() =>
        signIn().then(
          () => "in",
          ({ error }) => error,
        ),
      )
      .toBe("in");
    const { client } = asked.phone;
    // The key is registered first, and the device follows by an event.
    const devices = async () => (await client.devices()).map(({ id }) => id);
    await expect.poll(devices).toContain(asked.srcDeviceId);
  });

  it("finishes with its own request's token only, and not once it was rejected", async () => {
    const person = await signUpPerson();
    const [asked, other] = [await ask(person), await ask(person)];
    const otherPerson = await signUpPerson();
    const theirs = await ask(otherPerson);
    const full = person.client.credentials!.accessToken;
    const refused = { status: 403, body: { error: "InsufficientScope" } };
    expect(await finish(full, asked.id)).toMatchObject(refused);
    expect(await finish(other.ephemeral, asked.id)).toMatchObject(refused);
    expect(await finish(theirs.ephemeral, asked.id)).toMatchObject({ body: { error: "TwoFactorAuthNotFound" } });
    for (const path of ["/device/v1/devices", "/key/v1/keys", "/account/v1/me", "/auth/v1/sessions"]) {
      expect(await call("GET", path, { token: asked.ephemeral })).toMatchObject(refused);
    }
    expect((await call("DELETE", `/device/v1/2fa/${asked.id}`, { token: full })).status).toBe(204);
    const rejected = await finish(asked.ephemeral, asked.id);
    expect(rejected).toMatchObject({ status: 403, body: { error: "TwoFactorAuthRejected" } });
  });

  it("gets the same request for the same Idempotency-Key, and none for another body", async () => {
    const person = await signUpPerson();
    const body = await askBody(person, newPhone());
    const headers = { "idempotency-key": randomUUID() };
    const answers = await Promise.all([1, 2, 3].map(() => call("POST", "/auth/v1/signin/2fa", { body, headers })));
    expect(new Set(answers.map((answer) => askedOf(answer.body).id)).size).toBe(1);
    const { publicKey } = newPhone().deviceKey;
    const changed = { ...body, userKey: { ...body.userKey, publicKey } };
    const reused = await call("POST", "/auth/v1/signin/2fa", { body: changed, headers });
    expect(reused).toMatchObject({ status: 422, body: { error: "IdempotencyKeyReused" } });
  });

  it("of a person without an account is answered that a sign-up is needed", async () => {
    const person = { ...(await signUpPerson()), email: `nobody-${randomUUID()}@example.com` };
    const answer = await call("POST", "/auth/v1/signin/2fa", { body: await askBody(person, newPhone()) });
    expect(answer).toMatchObject({ status: 404, body: { error: "AccountNotFound" } });
  });
});

it("a frozen account enrolls no device, until the device that froze it and another one agree to lift that", async () => {
  const person = await signUpPerson();
  const asked = await ask(person);
  await approve(person, asked);
  const second = (await finishWithRetries(asked.ephemeral, asked.id)).body.credentials.accessToken;
  const first = person.client.credentials!.accessToken;
  const waiting = await ask(person);
  expect((await call("POST", "/account/v1/freeze", { token: first })).status).toBe(204);
  expect((await call("POST", "/account/v1/freeze", { token: second })).status).toBe(204);
  const body = await askBody(person, newPhone());
  const frozen = { status: 403, body: { error: "AccountFrozen" } };
  expect(await call("POST", "/auth/v1/signin/2fa", { body })).toMatchObject(frozen);
  const message = { message: waiting.message };
  await expect
    .poll(async () => (await call("POST", "/sign/v1/cadence/transaction", { token: second, body: message })).body.error)
    .toBe("AccountFrozen");
  const kept = await call("POST", "/account/v1/unfreeze", { token: first });
  expect(kept).toMatchObject({ status: 403, body: { error: "TimeLockRequired" } });
  expect((await call("POST", "/account/v1/unfreeze", { token: second })).status).toBe(204);
  expect((await call("POST", "/auth/v1/signin/2fa", { body })).status).toBe(200);
});
