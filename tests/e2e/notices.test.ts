import { describe, expect, it } from "vitest";
import { chainName, logIn, newPhone, secondPhone, signUpPerson } from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { deviceLog, noticesSince } from "./notice-log.ts";

describe("people are notified", () => {
  it("of a freeze, by push and by mail, and no log has the address or the push token", async () => {
    const { client, email } = await signUpPerson();
    const pushToken = `token-of-${email}`;
    await client.updateDevice({ pushToken });
    const start = deviceLog().length;
    const token = client.credentials!.accessToken;
    expect((await call("POST", "/account/v1/freeze", { token })).status).toBe(204);
    await expect
      .poll(() => noticesSince(start).map(({ msg, event }) => `${msg}: ${event}`))
      .toEqual(expect.arrayContaining(["push: notice.frozen", "mail: Your account is frozen"]));
    expect(deviceLog()).not.toContain(email);
  });

  it("in the language of the device", async () => {
    const { client } = await signUpPerson();
    await client.updateDevice({ lang: "de-AT" });
    const start = deviceLog().length;
    const token = client.credentials!.accessToken;
    expect((await call("POST", "/account/v1/freeze", { token })).status).toBe(204);
    await expect
      .poll(() => noticesSince(start).map(({ msg, event }) => `${msg}: ${event}`))
      .toContain("mail: Ihr Konto ist gesperrt");
  });

  it("of a new device that asks: the old one's stream and its push", async () => {
    const { client, email } = await signUpPerson();
    await client.updateDevice({ pushToken: `token-of-${email}` });
    const abort = new AbortController();
    const connected = Promise.withResolvers<void>();
    const seen: { type: string; data: Record<string, unknown> }[] = [];
    const following = (async () => {
      const onConnection = (isConnected: boolean) => isConnected && connected.resolve();
      for await (const event of client.events({ signal: abort.signal, onConnection })) seen.push(event);
    })();
    await connected.promise;
    const start = deviceLog().length;
    // The requester sees the device that is asked, but not its push token.
    const { deviceKey } = newPhone();
    const { publicKey, algorithm } = deviceKey;
    const userKey = { type: "device", publicKey, algorithm, device: { publicKey, algorithm, name: "New phone" } };
    const login = await logIn(email);
    const asked = await call("POST", "/auth/v1/signin/2fa", { body: { request: { ...login, chainName }, userKey } });
    expect(asked.status, JSON.stringify(asked.body)).toBe(200);
    const { id, request } = asked.body.twoFactorAuth;
    expect(request.destDevice).toMatchObject({ publicKey: client.deviceKey.publicKey, pushToken: "" });

    const requested = () => seen.find(({ type }) => type === "two-factor.requested");
    await expect.poll(requested).toMatchObject({ data: { id } });
    await expect
      .poll(() => noticesSince(start))
      .toContainEqual(expect.objectContaining({ msg: "push", event: "two-factor.requested", twoFactorId: id }));

    const token = client.credentials!.accessToken;
    expect((await call("DELETE", `/device/v1/2fa/${id}`, { token })).status).toBe(204);
    await expect.poll(() => seen.map(({ type }) => type)).toContain("two-factor.rejected");
    abort.abort();
    await following;
    expect(deviceLog()).not.toContain(email);
  });

  it("of an enrolled device, by push and by mail", async () => {
    const { client, email } = await signUpPerson();
    await client.updateDevice({ pushToken: `token-of-${email}` });
    const start = deviceLog().length;
    await secondPhone({ client, email });
    const notices = () => noticesSince(start).map(({ msg, event }) => `${msg}: ${event}`);
    const news = ["push: notice.new-device", "mail: A new device was added to your account"];
    const expected = [...news, "push: two-factor.approved", "push: two-factor.finished"];
    await expect.poll(notices).toEqual(expect.arrayContaining(expected));
    // The sign-in that belongs to it causes no second notice.
    expect(notices().filter((line) => line.includes("sign-in"))).toEqual([]);
    expect(deviceLog()).not.toContain(email);
  });
});
