import { afterAll, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { stateDir } from "../security/secrets.ts";
import { countersign } from "../support/admin.ts";
import { pollOptions, signUpPerson, stack } from "../support/person.ts";
import { newSecret, startReceiver, writeEndpoints } from "../support/webhook-receiver.ts";
import { json } from "./administrator.ts";

const [old, next, others] = [newSecret(), newSecret(), newSecret()];
const receiver = await startReceiver(() => [old, next]);
const elsewhere = await startReceiver(() => [others]);
const configured = async (...secrets: string[]) => {
  writeEndpoints(stateDir, [
    { id: "demo", appId: "demo", url: receiver.url, secrets },
    { id: "elsewhere", appId: "another-app", url: elsewhere.url, secrets: [others] },
  ]);
  const expected = [
    ["demo", secrets.length],
    ["elsewhere", 1],
  ];
  await vi.waitFor(async () => {
    const endpoints: { id: string; secrets: number }[] = await json("ada", "webhooks", "list");
    expect(endpoints.map(({ id, secrets: count }) => [id, count])).toEqual(expected);
  }, pollOptions);
};

beforeAll(() => configured(old));
beforeEach(() => {
  receiver.status = () => 204;
});
afterAll(() => {
  writeEndpoints(stateDir, []);
  receiver.close();
  elsewhere.close();
});

const of = (accountId: string) => receiver.received.filter(({ data }) => data.accountId === accountId);
const typesOf = (accountId: string) => [...new Set(of(accountId).map(({ type }) => type))];

it("an app's backend gets the signed events of its accounts, in their order; another app's gets none", async () => {
  const { signedUp, client } = await signUpPerson();
  const { id } = signedUp.account;
  await client.freeze();
  const expected = ["account.signed-up", "session.created", "device.updated", "key.added", "account.updated"];
  await expect.poll(() => expected.every((type) => typesOf(id).includes(type)), pollOptions).toBe(true);
  await expect.poll(() => of(id).some(({ data }) => data.change === "frozen"), pollOptions).toBe(true);
  expect(of(id).find(({ type }) => type === "session.created")!.data).toEqual({
    accountId: id,
    sessionId: expect.any(String),
    publicKey: expect.stringMatching(/^[0-9a-f]{128}$/),
    recovery: false,
  });
  const freezing = of(id).filter(({ data }) => data.change === "frozen");
  expect(freezing).toHaveLength(1);
  expect([receiver.forged, elsewhere.received, elsewhere.forged]).toEqual([[], [], []]);
});

it("an event that fails is sent again and holds back the account's later ones, which follow in order", async () => {
  const { signedUp, client } = await signUpPerson();
  const { id } = signedUp.account;
  await expect.poll(() => typesOf(id).includes("key.added"), pollOptions).toBe(true);
  let failures = 0;
  receiver.status = ({ data }) => {
    if (data.accountId !== id || data.change !== "frozen" || failures > 1) return 204;
    failures += 1;
    // First a redirect, then no answer to the end.
    return failures === 1 ? 307 : 500;
  };
  await client.freeze();
  await client.unfreeze().catch(() => undefined);
  await expect.poll(() => failures, pollOptions).toBe(1);
  expect(typesOf(id)).not.toContain("time-lock.started");
  await expect.poll(() => typesOf(id), { timeout: 40_000, interval: 200 }).toContain("time-lock.started");
  const frozen = of(id).filter(({ data }) => data.change === "frozen");
  expect([failures, new Set(frozen.map((each) => each.id)).size]).toEqual([2, 1]);
  expect(frozen.length).toBe(3);
});

it("administrators send a test, see what waits, and replay an event; each command is recorded", async () => {
  const tested = await json("ada", "webhooks", "test", "demo");
  expect(tested).toMatchObject({ outcome: "delivered", details: ["status 204"] });
  expect(receiver.received.at(-1)).toMatchObject({ type: "webhook.test", data: {} });
  receiver.status = () => 503;
  expect(await json("ada", "webhooks", "test", "demo")).toMatchObject({
    outcome: "not delivered",
    details: ["status 503"],
  });
  receiver.status = () => undefined;
  expect(await json("ada", "webhooks", "test", "demo")).toMatchObject({ details: ["no answer within 10 s"] });
  receiver.status = () => 204;
  const { signedUp } = await signUpPerson();
  const { id } = signedUp.account;
  await expect.poll(() => typesOf(id).includes("key.added"), pollOptions).toBe(true);
  const [event] = of(id).filter(({ type }) => type === "key.added");
  const before = of(id).length;
  expect((await json("ada", "webhooks", "replay", "demo", "--event", event!.id)).replayed).toBe(1);
  await expect.poll(() => of(id).filter((each) => each.id === event!.id).length, pollOptions).toBe(2);
  expect(of(id).length).toBeGreaterThan(before);
  expect((await json("ada", "webhooks", "replay", "demo", "--from", "2020-01-01T00:00:00Z", "--dead")).replayed).toBe(
    0,
  );
  const unknown = await countersign(stack, "ada", "webhooks", "test", "nowhere");
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain("no endpoint of DEVICE_WEBHOOKS_FILE has this id");
  const open = await countersign(stack, "ada", "webhooks", "replay", "demo");
  expect(open.code).toBe(2);
  const actions = await json("ada", "actions", "list", "--service", "device");
  const commands = JSON.stringify(actions);
  for (const command of ["webhooks list", "webhooks test", "webhooks replay"]) expect(commands).toContain(command);
  for (const secret of [old, next]) expect(commands).not.toContain(secret);
});

it("a secret is replaced without a gap: both sign, then the new one alone", async () => {
  await configured(next, old);
  await json("ada", "webhooks", "test", "demo");
  expect(receiver.received.at(-1)!.signedBy).toEqual([old, next]);
  await configured(next);
  await json("ada", "webhooks", "test", "demo");
  expect(receiver.received.at(-1)!.signedBy).toEqual([next]);
  await configured(old);
});

it("an erasure reaches the backend, and takes the account's other messages away", async () => {
  const { signedUp } = await signUpPerson();
  const { id } = signedUp.account;
  await expect.poll(() => typesOf(id).includes("key.added"), pollOptions).toBe(true);
  const asked = await json("ada", "person", "erase", id);
  await json("grace", "requests", "approve", asked.actionId, "--account", id);
  await expect
    .poll(() => of(id).find(({ type }) => type === "account.erased")?.data, pollOptions)
    .toEqual({ accountId: id });
});
