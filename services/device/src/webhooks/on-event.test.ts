import { isUuid, orderedUuidv7, unchanging, uuidv7 } from "@countersign/core";
import { FixedClock } from "@countersign/core/testing";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { beforeEach, expect, it } from "vitest";
import { somePublicKey } from "../testing/samples.ts";
import type { WebhookEndpoint } from "./config.ts";
import { WEBHOOK_TYPES } from "./message.ts";
import { onWebhookEvent } from "./on-event.ts";
import type { NewDelivery } from "./ports.ts";

const clock = new FixedClock("2026-11-23T10:00:00Z");
const accountId = uuidv7(clock);
const eventId = orderedUuidv7();
const sessionId = uuidv7(clock);
const endpoint = (id: string, appId: string, more: Partial<WebhookEndpoint> = {}): WebhookEndpoint => ({
  id,
  appId,
  url: "https://hooks.example/",
  secrets: ["whsec_x"],
  types: WEBHOOK_TYPES,
  ...more,
});

let added: NewDelivery[];
let asked: string[][];
let apps: Record<string, string[]>;
let handle: (service: string, name: string, payload: object, more?: object) => Promise<void>;
beforeEach(() => {
  added = [];
  asked = [];
  apps = { "": ["wallet", "game"], [sessionId]: ["game"] };
  const endpoints = unchanging([
    endpoint("wallet-2", "wallet"),
    endpoint("wallet-1", "wallet", { types: ["key.added"] }),
    endpoint("game", "game"),
    endpoint("elsewhere", "other"),
  ]);
  const on = onWebhookEvent({
    endpoints,
    store: { add: async (each) => void added.push(each) },
    listApps: async (...args) => {
      asked.push(args);
      return apps[args[1]] ?? [];
    },
    clock,
  });
  handle = (service, name, payload, more = {}) =>
    on({
      subject: `cs.v1.${service}.${accountId}.${name}`,
      attempt: 1,
      event: Event.fromPartial({ id: eventId, accountId, occurredAt: clock.now(), ...payload, ...more }),
    });
});

const key = publicKeyToProto(somePublicKey());

it("an event of an account goes to every endpoint of its apps that takes its type, and to no other app's", async () => {
  await handle("key", "key-registered", { keyRegistered: { accountKey: key, chainName: "c", keyIndex: 2 } });
  expect(added).toHaveLength(1);
  expect(added[0]).toMatchObject({
    eventId,
    accountId,
    type: "key.added",
    endpoints: ["game", "wallet-1", "wallet-2"],
  });
  expect(JSON.parse(added[0]!.body)).toEqual({
    type: "key.added",
    timestamp: "2026-11-23T10:00:00.000Z",
    data: { accountId, publicKey: expect.any(String), algorithm: "ES256", chainName: "c", keyIndex: 2 },
  });
  await handle("key", "account-left", { accountLeft: {} });
  expect(added[1]).toMatchObject({ type: "account.updated", endpoints: ["game", "wallet-2"] });
});

it("a session is its own app's affair, at its beginning and at its end", async () => {
  const sessionCreated = { sessionId, app: { appId: "wallet", appName: "W" }, deviceKey: key, recovery: false };
  await handle("auth", "session-created", { sessionCreated });
  expect([added[0]!.endpoints, asked]).toEqual([["wallet-2"], []]);
  await handle("auth", "session-ended", { sessionEnded: { sessionId, cause: "signed-out" } });
  expect([added[1]!.endpoints, asked]).toEqual([["game"], [[accountId, sessionId]]]);
});

it("a session that replaces another one of its app is two messages, whose ids stay when the event comes again", async () => {
  const replaced = uuidv7(clock);
  const event = { sessionId, app: { appId: "wallet", appName: "W" }, deviceKey: key, replacedSessionId: replaced };
  await handle("auth", "session-created", { sessionCreated: event });
  await handle("auth", "session-created", { sessionCreated: event });
  expect(added.map(({ type, endpoints }) => [type, endpoints])).toEqual([
    ["session.created", ["wallet-2"]],
    ["session.ended", ["wallet-2"]],
    ["session.created", ["wallet-2"]],
    ["session.ended", ["wallet-2"]],
  ]);
  const [created, ended, ...again] = added;
  expect(JSON.parse(ended!.body).data).toEqual({ accountId, sessionId: replaced, cause: "replaced" });
  expect(created!.eventId).toBe(eventId);
  expect(isUuid(ended!.eventId) && ended!.eventId > eventId).toBe(true);
  expect(again).toEqual([created, ended]);
  expect(asked).toEqual([]);
  // A key of a later version hides the new session's message, not the end of the old one.
  await handle("auth", "session-created", { sessionCreated: { ...event, deviceKey: undefined } });
  expect(added.at(-1)).toEqual(ended);
  const first = { ...event, replacedSessionId: "00000000-0000-0000-0000-000000000000" };
  for (const sessionCreated of [first, { ...event, replacedSessionId: "" }]) {
    await handle("auth", "session-created", { sessionCreated });
    expect(added.at(-1)).toEqual(created);
  }
});

it("an erasure reaches the apps that the event names, since auth has forgotten them", async () => {
  apps = {};
  await handle("auth", "person-erased", { personErased: { appIds: ["wallet", "gone"] } });
  expect(added[0]).toMatchObject({ type: "account.erased", endpoints: ["wallet-2"] });
  expect(JSON.parse(added[0]!.body).data).toEqual({ accountId });
  expect(asked).toEqual([]);
});

it("nothing is queued for accounts of no app, other subjects, incomplete events and forged accounts", async () => {
  apps = {};
  await handle("account", "account-updated", { accountUpdated: {} });
  await handle("account", "account-updated", { accountUpdated: {} }, { accountId: uuidv7(clock) });
  await handle("account", "account-updated", { accountUpdated: {} }, { occurredAt: undefined });
  await handle("account", "account-updated", { accountUpdated: {} }, { id: "1" });
  await handle("auth", "sign-up-completed", {});
  // NATS lets each service publish its own subjects only: auth alone says that a person was erased.
  await handle("key", "person-erased", { personErased: { appIds: ["wallet"] } });
  await handle("signer", "audit-checkpoint", { auditCheckpoint: {} });
  expect(added).toEqual([]);
});
