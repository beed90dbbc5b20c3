import type { Key } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { describe, expect, it } from "vitest";
import {
  chainName,
  logIn,
  newPhone,
  type Phone,
  phoneOf,
  problemOf,
  secondPhone,
  signUpPerson,
} from "../support/person.ts";
import { call } from "../support/raw-request.ts";
import { change, plain } from "./key-changes.ts";

const keyOf = async ({ client }: Phone, { publicKey }: { publicKey: string }): Promise<Key | undefined> =>
  (await client.keys({ includeRevoked: true })).find((key) => key.publicKey === publicKey);

const pollOptions = { timeout: 15_000, interval: 100 };

describe("the list of keys follows the chain", () => {
  it("a key that was added without the service is listed and notified, and does not sign in", async () => {
    const person = await signUpPerson();
    const events: string[] = [];
    const abort = new AbortController();
    void (async () => {
      for await (const { type } of person.client.events({ signal: abort.signal, lastEventId: "0" })) events.push(type);
    })().catch(() => undefined);
    const unregistered = newPhone();
    await change(person, { template: "add-user-key", newKey: plain(unregistered.deviceKey) });
    await expect
      .poll(() => keyOf(person, unregistered.deviceKey), pollOptions)
      .toMatchObject({
        type: "user-key",
        keyIndex: 2,
        weight: 1,
        revokedAt: "",
      });
    const login = await logIn(person.email);
    expect(await problemOf(unregistered.client.signIn({ login, chainName }))).toMatchObject({
      error: "PleaseRegisterKey",
    });
    await expect.poll(() => events, { timeout: 20_000 }).toContain("key.discovered");
    abort.abort();
  });

  it("a key revoked on chain shows as revoked; its sessions end, its device goes, it signs in no more", async () => {
    const person = await signUpPerson();
    const lost = await secondPhone(person);
    expect(await lost.client.keys()).toHaveLength(2);
    await change(person, { template: "revoke-user-key", oldKey: lost.deviceKey.publicKey });
    await expect.poll(() => lost.client.me().catch(({ error }) => error), pollOptions).toBe("SessionEnded");
    const { deviceKey } = lost;
    expect(await keyOf(person, deviceKey)).toMatchObject({ keyIndex: 2, revokedAt: expect.stringMatching(/Z$/) });
    expect((await person.client.keys()).map(({ publicKey }) => publicKey)).toEqual([person.deviceKey.publicKey]);
    await expect.poll(async () => (await person.client.devices()).length, pollOptions).toBe(1);
    const login = await logIn(person.email);
    expect(await problemOf(lost.client.signIn({ login, chainName }))).toMatchObject({ error: "PleaseRegisterKey" });
    expect(await person.client.me()).toMatchObject({ id: person.signedUp.account.id });
  });

  it("a revocation is reported with its transaction, and with no other", async () => {
    const person = await signUpPerson();
    const unregistered = generateDeviceKey();
    const added = await change(person, { template: "add-user-key", newKey: plain(unregistered) });
    await expect.poll(() => keyOf(person, unregistered), pollOptions).toBeDefined();
    const { client } = person;
    const wrong = await problemOf(client.reportRevocation(unregistered.publicKey, added.id));
    expect(wrong).toMatchObject({ status: 422, error: "TransactionMismatch" });
    const unknown = await problemOf(client.reportRevocation(unregistered.publicKey, "ab".repeat(32)));
    expect(unknown).toMatchObject({ status: 409, error: "TransactionPending" });
    const nobodys = generateDeviceKey().publicKey;
    expect(await problemOf(client.reportRevocation(nobodys, added.id))).toMatchObject({ error: "KeyNotFound" });
    const token = client.credentials!.accessToken;
    const bare = await call("DELETE", `/key/v1/keys/${unregistered.publicKey}`, { token });
    expect(bare).toMatchObject({ status: 400, body: { errors: [{ pointer: "/txId" }] } });

    const revoked = await change(person, { template: "revoke-user-key", oldKey: unregistered.publicKey });
    await client.reportRevocation(unregistered.publicKey, revoked.id);
    await client.reportRevocation(unregistered.publicKey, revoked.id);
    expect(await keyOf(person, unregistered)).toMatchObject({ revokedAt: expect.stringMatching(/Z$/) });
  });

  it("a revoked key does not come back: neither by a transaction nor by another enrollment", async () => {
    const person = await signUpPerson();
    const lost = await secondPhone(person);
    const { deviceKey } = lost;
    await change(person, { template: "revoke-user-key", oldKey: deviceKey.publicKey });
    await expect
      .poll(async () => (await keyOf(person, deviceKey))?.revokedAt, pollOptions)
      .toEqual(expect.stringMatching(/Z$/));
    const refused = { status: 403, error: "SigningRefused", reason: "BadTemplateArguments" };
    const back = change(person, { template: "add-user-key", newKey: plain(deviceKey) });
    expect(await problemOf(back)).toMatchObject(refused);
    const again = phoneOf(deviceKey).client;
    const asked = again.requestTwoFactor({ login: await logIn(person.email), chainName });
    expect(await problemOf(asked)).toMatchObject({ status: 409, error: "KeyAlreadyRegistered" });
    expect((await person.client.keys()).map(({ publicKey }) => publicKey)).toEqual([person.deviceKey.publicKey]);
  });

  it("a session revokes no key of its own, so that the last one stays also beside keys of removed devices", async () => {
    const person = await signUpPerson();
    const { deviceKey, client } = await secondPhone(person);
    await person.client.removeDevice(deviceKey.publicKey);
    const own = { template: "revoke-user-key", oldKey: person.deviceKey.publicKey } as const;
    const refused = { status: 403, error: "SigningRefused", reason: "BadTemplateArguments" };
    expect(await problemOf(change(person, own))).toMatchObject(refused);
    expect(await person.client.keys()).toMatchObject([{ revokedAt: "" }, { revokedAt: "" }]);
    // All services learn of a removal within two seconds.
    await expect.poll(() => problemOf(client.keys()), pollOptions).toMatchObject({ status: 401 });
  });
});
