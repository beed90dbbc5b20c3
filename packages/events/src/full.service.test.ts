import { readFileSync } from "node:fs";
import { join } from "node:path";
import { uuidv4 } from "@countersign/core";
import { startChild } from "@countersign/local-stack/child.ts";
import { Event } from "@countersign/proto/events/v1/events.ts";
import type { JetStreamManager } from "nats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { API_PREFIX } from "./consumers.ts";
import { EVENTS_STREAM } from "./stream.ts";
import { beginNats, type TestNats } from "./testing/nats-server.ts";

/**
 * A service fills the stream, as docs/transport.md describes: all services wait, the operator purges that
 * service's subjects, and no event of the others is lost.
 */
const account = "019a0000-0000-7000-8000-000000000001";
const alerts = "auth-chain-alerts";
const MAX_FILE = 8 * 1024 * 1024;

let nats: TestNats;
let manager: JetStreamManager;

describe("a full stream", () => {
  beforeAll(async () => {
    nats = await beginNats({
      startChild: (child) => startChild({ ...child, env: { ...child.env, NATS_MAX_FILE: String(MAX_FILE) } }),
    });
    manager = await (await nats.connectAs("operator")).jetstreamManager();
  });

  afterAll(() => nats?.end());

  it("rejects new events, delivers and keeps what it has, and accepts again once the thief's subjects are purged", {
    timeout: 60_000,
  }, async () => {
    const emitter = (await nats.connectAs("account")).jetstream();
    const alert = () =>
      emitter.publish(
        `cs.v1.account.${account}.chain-alert`,
        Event.encode(Event.fromPartial({ id: uuidv4(), accountId: account })).finish(),
      );
    await alert();
    await alert();
    const thief = (await nats.connectAs("key")).jetstream();
    const fill = async () => {
      for (;;) await thief.publish(`cs.v1.key.${uuidv4()}.junk`, new Uint8Array(900_000));
    };
    await expect(fill()).rejects.toThrow();
    await expect(alert()).rejects.toThrow();

    expect(readFileSync(join(nats.stateDir, "nats.log"), "utf8")).toContain("JetStream file resource limits exceeded");
    const { state } = await manager.streams.info(EVENTS_STREAM);
    expect(state.bytes).toBeGreaterThan(MAX_FILE * 0.8);
    expect(state.first_seq).toBe(1);
    const mine = await (await nats.connectAs("auth"))
      .jetstream({ apiPrefix: API_PREFIX })
      .consumers.get(EVENTS_STREAM, alerts);
    for (const sequence of [1, 2]) {
      const message = await mine.next({ expires: 2_000 });
      expect(message?.seq).toBe(sequence);
      message?.ack();
    }
    const left = async () => {
      const { num_pending, num_ack_pending } = await manager.consumers.info(EVENTS_STREAM, alerts);
      return num_pending + num_ack_pending;
    };
    await expect.poll(left).toBe(0);

    await manager.streams.purge(EVENTS_STREAM, { filter: "cs.v1.key.>" });
    await expect
      .poll(
        () =>
          alert().then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
    const { state: purged } = await manager.streams.info(EVENTS_STREAM, { subjects_filter: "cs.v1.account.>" });
    expect(Object.values(purged.subjects ?? {})).toEqual([3]);
  });
});
