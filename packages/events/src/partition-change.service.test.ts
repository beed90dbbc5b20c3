import { cpSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { root } from "@countersign/build/paths.ts";
import { type Logger, uuidv4 } from "@countersign/core";
import { startChild } from "@countersign/local-stack/child.ts";
import { Event } from "@countersign/proto/events/v1/events.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeliveredEvent } from "./index.ts";
import { natsAccountsFile } from "./nats-accounts.ts";
import { setUpEvents } from "./set-up.ts";
import { EVENTS_STREAM } from "./stream.ts";
import { beginNats, LASTING, type TestNats } from "./testing/nats-server.ts";
import { closeAll, consume, exported, FIRST, follow, NAMES, PARTITIONS, publish } from "./testing/partitions.ts";

/** Returns a logger, and the errors that it was given. */
function listen() {
  const errors: string[] = [];
  const nothing = () => undefined;
  const listening = { child: () => listening, error: (text: string) => void errors.push(text), warn: nothing };
  return { errors, logger: listening as unknown as Logger };
}

afterEach(closeAll);

describe("a change from one stream to partitions", () => {
  let nats: TestNats;
  let folder: string;
  // Its accounts can be changed.
  beforeEach(async () => {
    nats = await beginNats({
      startChild: (child) => {
        folder = join(dirname(child.logFile), "config");
        cpSync(join(root, "deploy/nats"), folder, { recursive: true });
        return startChild({ ...child, args: ["-c", join(folder, "server.conf")] });
      },
    });
  });
  afterEach(() => nats?.end());

  const changeAccounts = (partitions: number) => {
    writeFileSync(join(folder, "accounts.conf"), natsAccountsFile("a test", partitions));
    process.kill(nats.pid(), "SIGHUP");
  };

  it("with another number in accounts.conf than at the set-up is an error in device's log", async () => {
    const operator = await nats.connectAs("operator", LASTING);
    const emitter = await nats.connectAs("account", LASTING);
    await setUpEvents(operator, { partitions: PARTITIONS });
    changeAccounts(3);
    const { errors, logger } = listen();
    const { feeds } = follow(nats, logger);
    const accountIds = Array.from({ length: 20 }, () => uuidv4());
    const found = () => accountIds.some((accountId) => feeds.of(accountId).position() !== undefined);
    await expect.poll(found, { timeout: 20_000 }).toBe(true);
    const sendAll = () => Promise.all(accountIds.map((accountId) => publish(emitter, accountId).catch(() => 0)));
    const afterSent = () => sendAll().then(() => errors);
    const message = "devices miss events: accounts.conf of NATS has another number of partitions than the set-up";
    await expect.poll(afterSent, { timeout: 20_000 }).toEqual([message]);
  });

  const orders = [
    ["set-up", "accounts"],
    // Events then wait in the outboxes.
    ["accounts", "set-up"],
  ] as const;
  it.each(orders)("loses no event and repeats none: %s, %s", { timeout: 60_000 }, async (...order) => {
    const operator = await nats.connectAs("operator", LASTING);
    const emitter = await nats.connectAs("account", LASTING);
    const accounts = Array.from({ length: 50 }, () => uuidv4());
    const sent: string[] = [];
    const streams: string[] = [];
    const emit = async () => {
      const id = uuidv4();
      const accountId = accounts[sent.length % accounts.length]!;
      sent.push(id);
      // As the outbox does: again with the same id until NATS has acknowledged it.
      for (;;) {
        const answer = await publish(emitter, accountId, id).catch(() => undefined);
        if (answer !== undefined) return void streams.push(answer.stream);
        await setTimeout(50);
      }
    };
    const handled: string[] = [];
    const handler = async ({ event }: DeliveredEvent) => {
      handled.push(event.id);
      await setTimeout(2);
    };
    const since = new Date();
    // Events that wait, and a replica that begins with them.
    for (let count = 0; count < 100; count += 1) await emit();
    consume(nats, handler, { measureMs: 500 });
    const { feeds, seen } = follow(nats);
    await expect.poll(() => feeds.of(accounts[0]!).position()).toBeGreaterThan(0);
    let isOver = false;
    const emitting = (async () => {
      while (!isOver) await emit();
    })();

    const steps = {
      "set-up": () => setUpEvents(operator, { partitions: PARTITIONS }),
      accounts: async () => changeAccounts(PARTITIONS),
    };
    for (const step of order) {
      await setTimeout(200);
      await steps[step]();
    }
    await expect.poll(() => new Set(streams.slice(-20)), { timeout: 20_000 }).toEqual(new Set(NAMES));
    await setTimeout(200);
    isOver = true;
    await emitting;
    await expect.poll(() => handled.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(sent.length);
    // Device's streams end once, and clients continue from their last id in the account's partition.
    const breaks = () => seen.filter((each) => each === "break");
    await expect.poll(breaks).toHaveLength(1);
    for (const accountId of accounts) await expect.poll(() => feeds.of(accountId).position()).toBeGreaterThan(FIRST);
    await closeAll();
    expect(breaks()).toHaveLength(1);

    expect(handled.toSorted()).toEqual(sent.toSorted());
    expect(streams.filter((stream) => stream === EVENTS_STREAM).length).toBeGreaterThan(100);
    const { streams: info } = await operator.jetstreamManager();
    const { state } = await info.info(EVENTS_STREAM);
    for (const name of NAMES) expect((await info.info(name)).state.first_seq).toBeGreaterThan(state.last_seq);
    const events = await exported(nats, since);
    expect(events.map(({ event }) => Event.decode(Buffer.from(event, "base64")).id)).toEqual(sent);
  });
});
