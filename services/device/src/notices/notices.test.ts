import { FixedClock } from "@countersign/core/testing";
import type { DeliveredEvent } from "@countersign/events";
import type { PublicKey } from "@countersign/keys";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { publicKeyToProto } from "@countersign/rpc";
import { createLogger } from "@countersign/runtime";
import { v7 } from "uuid";
import { beforeEach, describe, expect, it } from "vitest";
import type { Device } from "../domain/devices/device.ts";
import type { Push } from "../push/push-devices.ts";
import { PUSH_KINDS } from "../push/push-kinds.ts";
import { someAttributes, somePublicKey } from "../testing/samples.ts";
import { noticeText } from "./notice-text.ts";
import { onNoticeEvent } from "./on-event.ts";
import type { Mail, NoticeKind } from "./ports.ts";
import { sendHeldNotices, sendNotice } from "./send-notice.ts";

const logger = createLogger({ name: "test", level: "silent" });
const MAX_PER_DAY = 20;
const accountId = v7();
const [first, second] = [somePublicKey(), somePublicKey()];

let clock: FixedClock;
let history: { id: string; publicKey: string; createdAt: Date }[];
let done: Map<string, { kind: string; at: Date }>;
let pushes: Push[];
let mails: Mail[];
let mailFails: boolean;
let pushFails: boolean;
let email: string;
let live: Device[];
/** The events whose mail is never taken. */
let badEvents: Set<string>;
/** The device keys whose use was recorded. */
let uses: PublicKey[];

beforeEach(() => {
  clock = new FixedClock("2026-11-20T10:00:00Z");
  history = [{ id: "first", publicKey: first.publicKey, createdAt: clock.now() }];
  done = new Map();
  pushes = [];
  mails = [];
  mailFails = false;
  pushFails = false;
  email = "ada@example.com";
  live = [];
  uses = [];
  badEvents = new Set();
});

function notices({ mail = true } = {}) {
  const deliveries: Parameters<typeof sendNotice>[0]["deliveries"] &
    Parameters<typeof sendHeldNotices>[0]["deliveries"] = {
    has: async ({ eventId, target }) => done.has(`${eventId} ${target}`),
    note: async ({ eventId, target, kind, at }) => void done.set(`${eventId} ${target}`, { kind, at }),
    begin: async ({ eventId, kind, at, since, limit }) => {
      if (done.has(`${eventId} notice`)) return true;
      const same = [...done].filter(([id, one]) => id.endsWith("notice") && one.kind === kind && one.at > since);
      const begins = same.length < limit;
      const [, ...replaced] = [...done].filter(([id, one]) => id.endsWith("held") && one.kind === kind);
      for (const [id] of begins ? [] : replaced) done.delete(id);
      done.set(`${eventId} ${begins ? "notice" : "held"}`, { kind, at });
      return begins;
    },
    async held(before, after) {
      const held = [...done]
        .filter(([id, { at }]) => id > `${after} held` && id.endsWith("held") && at < before)
        .sort();
      return held.slice(0, 2).map(([id, one]) => ({ ...one, eventId: id.split(" ")[0]!, accountId }));
    },
    async noteHeld({ eventId }) {
      done.set(`${eventId} notice`, done.get(`${eventId} held`)!);
      done.delete(`${eventId} held`);
    },
  };
  const sending: Omit<Parameters<typeof sendNotice>[0], "maxPerDay"> & { deliveries: typeof deliveries } = {
    devices: { listLive: async () => live },
    deliveries,
    push: async (_devices, push) => {
      pushes.push(push);
      if (pushFails) throw new Error("push is away");
    },
    mailer: mail
      ? {
          async send(sent) {
            if (mailFails || badEvents.has(sent.id)) throw new Error("mail is away");
            mails.push(sent);
          },
        }
      : undefined,
    findEmail: async () => email,
    clock,
    logger,
  };
  const send = sendNotice({ ...sending, maxPerDay: MAX_PER_DAY });
  const recordUse = async ({ publicKey: key }: { publicKey: PublicKey }) => {
    uses.push(key);
    return history.find(({ publicKey }) => publicKey === key.publicKey)?.createdAt;
  };
  const handle = onNoticeEvent({ deliveries: { history: async () => history }, recordUse, send });
  return { handle, sendHeld: sendHeldNotices(sending) };
}
const handler = (options?: { mail?: boolean }) => notices(options).handle;

function event(name: string, payload: Partial<Event>): DeliveredEvent {
  const made = Event.fromPartial({ id: v7(), accountId, occurredAt: clock.now(), ...payload });
  return { subject: `cs.v1.${name.replace(".", `.${accountId}.`)}`, attempt: 1, event: made };
}
const registered = (deviceId: string) =>
  event("device.device-registered", { deviceRegistered: { deviceId, deviceKey: publicKeyToProto(second) } });
const signedIn = (key = first) =>
  event("auth.session-created", {
    sessionCreated: {
      sessionId: "s",
      app: undefined,
      deviceKey: publicKeyToProto(key),
      accountKey: publicKeyToProto(key),
      recovery: false,
      replacedSessionId: "",
    },
  });
const frozen = (name: "frozen" | "unfrozen") =>
  event(`auth.account-${name}`, { accountFrozen: { frozen: name === "frozen", cause: "user" } });

describe("notices", () => {
  it("report a sign-in, by push and mail, with nothing in it that a client wrote", async () => {
    clock.advance(3_600_000);
    const delivered = signedIn();
    await handler()(delivered);
    expect(pushes).toMatchObject([{ kind: "notice.new-sign-in", twoFactorId: "", eventId: delivered.event.id }]);
    expect(mails).toEqual([
      { to: email, id: delivered.event.id, ...noticeText("new-sign-in", delivered.event.occurredAt!, "en") },
    ]);
    expect(uses).toEqual([first]);
    expect(mails[0]!.text).toContain("2026-11-20 11:00 UTC");
    expect(mails[0]!.text).not.toContain(accountId);
  });

  it("do not report the sign-up's own device and session", async () => {
    await handler()(registered("first"));
    await handler()(signedIn());
    expect(mails).toEqual([]);
  });

  it("report a further device once: its first sign-in is no second notice", async () => {
    clock.advance(3_600_000);
    history.push({ id: "second", publicKey: second.publicKey, createdAt: clock.now() });
    await handler()(registered("second"));
    await handler()(signedIn(second));
    expect(mails.map(({ subject }) => subject)).toEqual(["A new device was added to your account"]);
    clock.advance(3_600_000);
    await handler()(signedIn(second));
    expect(mails).toHaveLength(2);
  });

  it("report a freeze and its end", async () => {
    await handler()(frozen("frozen"));
    await handler()(frozen("unfrozen"));
    expect(pushes.map(({ kind }) => kind)).toEqual(["notice.frozen", "notice.unfrozen"]);
  });

  it("are sent where a freeze is to be lifted, and where that was cancelled", async () => {
    const timeLockStarted = { id: "d", operation: "unfreeze", availableAt: clock.now(), chainName: "" };
    await handler()(event("auth.time-lock-started", { timeLockStarted }));
    await handler()(event("auth.time-lock-cancelled", { timeLockCancelled: { id: "d", operation: "unfreeze" } }));
    expect(pushes.map(({ kind }) => kind)).toEqual(["notice.unfreeze-asked", "notice.unfreeze-cancelled"]);
    expect(mails.map(({ subject }) => subject)).toEqual([
      "Unfreezing your account was requested",
      "Unfreezing your account was cancelled",
    ]);
  });

  it("report an alert of the chain watch once, with its freeze", async () => {
    const alert = (freezes: boolean) =>
      event("account.chain-alert", {
        chainAlert: {
          chainName: "c",
          transactionId: "t",
          eventIndex: 0,
          eventType: "flow.AccountKeyAdded",
          height: 5n,
          kind: "keys",
          freezes,
        },
      });
    await handler()(alert(true));
    await handler()(event("auth.account-frozen", { accountFrozen: { frozen: true, cause: "chain-alert" } }));
    await handler()(alert(false));
    expect(pushes.map(({ kind }) => kind)).toEqual(["notice.changed-and-frozen", "notice.changed-on-chain"]);
  });

  it("are mailed in the language of the account's oldest device that states one", async () => {
    const device = (lang: string, createdAt: Date): Device => ({
      id: v7(),
      accountId,
      publicKey: somePublicKey(),
      attributes: { ...someAttributes, lang },
      createdAt,
      lastUsedAt: createdAt,
      removedAt: null,
    });
    live = [device("en", clock.now()), device("de_AT", new Date(0))];
    await handler()(frozen("frozen"));
    expect(mails).toMatchObject([{ subject: "Ihr Konto ist gesperrt" }]);
    expect(mails[0]!.text).toContain("Zeit: 2026-11-20 10:00 UTC");
  });

  const timeLock = { id: v7(), operation: "add-recovery-key", chainName: "c" };
  const chainAlert = (freezes: boolean) =>
    event("account.chain-alert", {
      chainAlert: {
        chainName: "c",
        transactionId: "t",
        eventIndex: 0,
        eventType: "e",
        height: 5n,
        kind: "keys",
        freezes,
      },
    });
  const session = (recovery: boolean) => {
    const made = signedIn();
    if (made.event.sessionCreated) made.event.sessionCreated.recovery = recovery;
    return made;
  };
  /** An event for each kind of notice. */
  const causes: Record<NoticeKind, () => DeliveredEvent> = {
    "new-sign-in": () => session(false),
    "new-device": () => registered("second"),
    frozen: () => frozen("frozen"),
    unfrozen: () => frozen("unfrozen"),
    "unfreeze-asked": () => event("auth.time-lock-started", { timeLockStarted: timeLock as never }),
    "unfreeze-cancelled": () => event("auth.time-lock-cancelled", { timeLockCancelled: timeLock as never }),
    "unknown-key": () => event("key.key-discovered", { keyDiscovered: {} as never }),
    "changed-on-chain": () => chainAlert(false),
    "changed-and-frozen": () => chainAlert(true),
    "account-left": () => event("key.account-left", { accountLeft: {} as never }),
    "recovery-sign-in": () => session(true),
    "time-lock-started": () => event("signer.time-lock-started", { timeLockStarted: timeLock as never }),
    "time-lock-cancelled": () => event("signer.time-lock-cancelled", { timeLockCancelled: timeLock as never }),
  };

  it.each(Object.entries(causes))("%s is pushed for the event that the list of kinds names", async (kind, cause) => {
    clock.advance(3_600_000);
    const delivered = cause();
    await handler()(delivered);
    expect(pushes.map((push) => push.kind)).toEqual([`notice.${kind}`]);
    const [, , service, , name] = delivered.subject.split(".");
    expect(PUSH_KINDS[`notice.${kind as NoticeKind}`]).toContain(`${service}.${name}`);
  });

  it("come once per event, and again only where they did not arrive", async () => {
    const handle = handler();
    const delivered = frozen("frozen");
    mailFails = true;
    await expect(handle(delivered)).rejects.toThrow("mail is away");
    mailFails = false;
    pushFails = true;
    await expect(handle(delivered)).rejects.toThrow("push is away");
    expect(mails).toHaveLength(1);
    await expect(handle(delivered)).rejects.toThrow();
    expect(mails).toHaveLength(1);
  });

  it("are at most so many of a kind in a day", async () => {
    const handle = handler();
    for (let count = 0; count < MAX_PER_DAY + 5; count++) await handle(frozen("frozen"));
    await handle(frozen("unfrozen"));
    expect(mails).toHaveLength(MAX_PER_DAY + 1);
    clock.advance(24 * 3_600_000 + 1);
    await handle(frozen("frozen"));
    expect(mails).toHaveLength(MAX_PER_DAY + 2);
  });

  it("say within an hour what happened after the last of a day: a thief's requests must not use them up", async () => {
    const { handle, sendHeld } = notices();
    const asked = () => event("auth.time-lock-started", { timeLockStarted: timeLock as never });
    for (let count = 0; count < MAX_PER_DAY; count++) await handle(asked());
    clock.advance(60_000);
    const [first, between, last] = [asked(), asked(), asked()];
    for (const each of [first, between, last]) await handle(each);
    const mailed = () => mails.slice(MAX_PER_DAY).map(({ id }) => id);
    clock.advance(3_600_000);
    await sendHeld();
    expect(mailed()).toEqual([]);
    clock.advance(1);
    mailFails = true;
    await sendHeld();
    mailFails = false;
    await sendHeld();
    await sendHeld();
    expect(mailed()).toEqual([first.event.id, last.event.id]);
    const later = asked();
    await handle(later);
    clock.advance(3_600_001);
    await sendHeld();
    expect(mailed()).toEqual([first.event.id, last.event.id, later.event.id]);
  });

  it("that were held do not wait for others that fail again and again", async () => {
    const { handle, sendHeld } = notices();
    const kinds = [
      () => event("auth.time-lock-started", { timeLockStarted: timeLock as never }),
      () => frozen("frozen"),
      () => frozen("unfrozen"),
    ];
    for (const make of kinds) for (let count = 0; count < MAX_PER_DAY; count++) await handle(make());
    const held = kinds.map((make) => make());
    for (const each of held) await handle(each);
    const [last, ...bad] = held
      .map(({ event: { id } }) => id)
      .sort()
      .reverse();
    badEvents = new Set(bad);
    clock.advance(3_600_001);
    for (let minute = 0; minute < 2; minute++) await sendHeld();
    expect(mails.slice(3 * MAX_PER_DAY).map(({ id }) => id)).toEqual([last]);
    badEvents = new Set();
    for (let minute = 0; minute < 2; minute++) await sendHeld();
    expect(
      mails
        .slice(3 * MAX_PER_DAY)
        .map(({ id }) => id)
        .sort(),
    ).toEqual([...bad, last].sort());
  });

  it("need neither a mailer nor an address", async () => {
    await handler({ mail: false })(frozen("frozen"));
    email = "";
    await handler()(frozen("frozen"));
    expect(pushes).toHaveLength(2);
    expect(mails).toEqual([]);
  });

  it("do not believe an event of another account, nor one that is not whole", async () => {
    const delivered = frozen("frozen");
    await handler()({ ...delivered, subject: `cs.v1.auth.${v7()}.account-frozen` });
    await handler()({ ...delivered, subject: `cs.v1.key.${accountId}.account-frozen` });
    await handler()(event("auth.account-frozen", {}));
    await handler()(event("auth.session-created", {}));
    // Its statement is shared with others' events, and would fail for all of them.
    for (const time of [Number.NaN, -1e14]) {
      const { event: made, ...rest } = signedIn();
      await handler()({ ...rest, event: { ...made, occurredAt: new Date(time) } });
    }
    expect(pushes).toEqual([]);
    expect(uses).toEqual([]);
  });
});
