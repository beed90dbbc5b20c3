import type { AccountEvent, CountersignClient } from "@countersign/client";
import { ACCOUNT_EVENTS } from "@countersign/http-api/events.ts";
import { describe, expect, it } from "vitest";
import { chainName, logIn, newPhone, secondPhone, signUpPerson, stack } from "../support/person.ts";
import { call } from "../support/raw-request.ts";

/** Records the events that a client receives, with the moment of each. */
function listen(client: CountersignClient, lastEventId?: string) {
  const abort = new AbortController();
  const seen: (AccountEvent & { at: number })[] = [];
  const connected = Promise.withResolvers<void>();
  const followed = (async () => {
    const onConnection = (isConnected: boolean) => isConnected && connected.resolve();
    const options = { signal: abort.signal, onConnection, ...(lastEventId === undefined ? {} : { lastEventId }) };
    for await (const event of client.events(options)) seen.push({ ...event, at: performance.now() });
  })();
  followed.catch(() => undefined);
  return {
    seen,
    connected: connected.promise,
    types: () => seen.map(({ type }) => type),
    followed,
    stop: () => {
      abort.abort();
      return followed;
    },
  };
}

/** Returns a raw stream: its text so far, and whether it ended. */
async function rawStream(token: string, headers: Record<string, string> = {}) {
  const abort = new AbortController();
  const response = await fetch(`${stack.gateway}/device/v1/events`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: abort.signal,
  });
  const state = { response, text: "", ended: false, close: () => abort.abort() };
  void (async () => {
    for await (const text of response.body!.pipeThrough(new TextDecoderStream())) state.text += text;
    state.ended = true;
  })().catch(() => undefined);
  return state;
}

/** The median, because single requests and the chain's answers are slow on a busy machine. */
function expectMedianBelow300(milliseconds: number[]): void {
  const median = milliseconds.toSorted((a, b) => a - b)[Math.floor(milliseconds.length / 2)];
  expect(median, `milliseconds: ${milliseconds.map(Math.round)}`).toBeLessThan(300);
}

describe("the account's events", () => {
  it("reach another session in under 300 ms", async () => {
    const person = await signUpPerson();
    const { client } = person;
    const phone = await secondPhone(person);
    const other = await rawStream(phone.client.credentials!.accessToken);
    await expect.poll(() => other.text).toContain("id:");
    const took: number[] = [];
    for (let round = 0; round < 10; round++) {
      const before = other.text.length;
      const started = performance.now();
      const change = client.updateDevice({ name: `Round ${round}` });
      await expect.poll(() => other.text.slice(before), { interval: 2, timeout: 2_000 }).toContain("device.updated");
      took.push(performance.now() - started);
      await change;
    }
    const session = (await client.sessions()).find(({ current }) => current)!;
    const all = await signUpPerson();
    const otherAccount = listen(all.client);
    const started = performance.now();
    await client.endSession(session.id);
    await expect.poll(() => other.text, { interval: 2, timeout: 2_000 }).toContain("session.ended");
    took.push(performance.now() - started);
    expect(other.text).toContain(`"sessionId":"${session.id}"`);
    expectMedianBelow300(took);
    // Events of its own sign-up may still come; events of another account never do.
    expect(otherAccount.types()).not.toContain("session.ended");
    expect(JSON.stringify(otherAccount.seen)).not.toContain(session.id);
    await otherAccount.stop();
    other.close();
  });

  it("of a new device that asks reach the old one in under 300 ms, counted from the asking", async () => {
    const { client, email } = await signUpPerson();
    const listening = listen(client);
    await listening.connected;
    const took: number[] = [];
    for (let round = 0; round < 5; round++) {
      const login = await logIn(email);
      const started = performance.now();
      const { twoFactorAuth } = await newPhone().client.requestTwoFactor({ login, chainName });
      const received = () => listening.seen.find(({ data }) => "id" in data && data.id === twoFactorAuth.id);
      await expect.poll(received, { interval: 5, timeout: 3_000 }).toMatchObject({ type: "two-factor.requested" });
      took.push(received()!.at - started);
    }
    await listening.stop();
    expectMedianBelow300(took);
  });

  it("are complete when a client reconnects", async () => {
    const { client } = await signUpPerson();
    // Events of the sign-up may still come when the first listener connects.
    const updates = ({ seen }: ReturnType<typeof listen>) =>
      seen.filter(({ data }) => "change" in data && data.change === "changed");
    const first = listen(client);
    await first.connected;
    await client.updateDevice({ name: "0" });
    await expect.poll(() => updates(first).map(({ type }) => type)).toEqual(["device.updated"]);
    await first.stop();
    for (let count = 1; count <= 10; count++) await client.updateDevice({ name: String(count) });
    const second = listen(client, first.seen.at(-1)!.id);
    for (let count = 11; count <= 20; count++) await client.updateDevice({ name: String(count) });
    await expect.poll(() => updates(second).length).toBe(20);
    expect(new Set(updates(second).map(({ type }) => type))).toEqual(new Set(["device.updated"]));
    const ids = second.seen.map(({ id }) => Number(id));
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    await second.stop();
  });

  it("include the sign-up for a client that reads from the beginning", async () => {
    const { client } = await signUpPerson();
    const { seen, stop } = listen(client, "0");
    await expect
      .poll(() => seen.map(({ type }) => type))
      .toEqual(expect.arrayContaining(["key.added", "device.updated"]));
    const added = seen.find(({ type }) => type === "key.added")!;
    expect(added.data).toMatchObject({ publicKey: client.deviceKey.publicKey, algorithm: "ES256", chainName });
    expect(added.data.occurredAt).toMatch(/Z$/);
    expect(seen.find(({ type }) => type === "device.updated")?.data).toMatchObject({ change: "registered" });
    // The shapes that the client's types and the documentation come from.
    for (const { type, data } of seen) {
      if (type === "unknown") throw new Error("an event that the client does not know");
      expect(ACCOUNT_EVENTS[type].parse(data)).toEqual(data);
    }
    await stop();
  });

  it("end with their session within two seconds, and do not begin again", async () => {
    const { client } = await signUpPerson();
    const token = client.credentials!.accessToken;
    const stream = await rawStream(token);
    await expect.poll(() => stream.text).toContain("id:");
    await client.signOut();
    await expect.poll(() => stream.ended, { timeout: 2_000, interval: 20 }).toBe(true);
    expect(stream.text).toContain("event: session.ended");
    await expect
      .poll(async () => (await call("GET", "/device/v1/events", { token })).status, { timeout: 2_000, interval: 50 })
      .toBe(401);
  });

  it("of a session that a new one of its device replaces reach its own stream only, and end it", async () => {
    const person = await signUpPerson();
    const { client, login } = person;
    const phone = await secondPhone(person);
    const [own, others] = await Promise.all(
      [client, phone.client].map(({ credentials }) => rawStream(credentials!.accessToken)),
    );
    for (const stream of [own!, others!]) await expect.poll(() => stream.text).toContain("id:");
    const { id } = (await client.sessions()).find(({ current }) => current)!;
    await client.signIn({ login, chainName });
    await expect.poll(() => own!.ended, { timeout: 2_000, interval: 20 }).toBe(true);
    expect(own!.text).toContain(`"sessionId":"${id}","cause":"replaced"`);
    // A later event has reached the other one: nothing was on its way.
    await client.updateDevice({ name: "Renamed" });
    await expect.poll(() => others!.text, { timeout: 2_000 }).toContain("device.updated");
    expect(others!.text).not.toContain("session.ended");
    others!.close();
  });

  it("end for a removed device, and the client says why", async () => {
    const owner = await signUpPerson();
    const { client, deviceKey } = await secondPhone(owner);
    const listening = listen(client);
    await listening.connected;
    await owner.client.removeDevice(deviceKey.publicKey);
    await expect(listening.followed).rejects.toMatchObject({ status: 401 });
    expect(listening.types()).toContain("session.ended");
  });

  it("need a full session, and an id that is one", async () => {
    const { client } = await signUpPerson();
    const token = client.credentials!.accessToken;
    expect(await call("GET", "/device/v1/events")).toMatchObject({ status: 401, body: { error: "Unauthenticated" } });
    for (const id of ["abc", "-1", "1".repeat(20)]) {
      const answer = await call("GET", "/device/v1/events", { token, headers: { "last-event-id": id } });
      expect(answer).toMatchObject({ status: 400, body: { error: "InvalidRequest" } });
    }
  });
});
