import type { Client } from "@grpc/grpc-js";
import { beforeEach, expect, it, vi } from "vitest";
import { createConnections } from "./connections.ts";

interface FakeClient {
  closed: boolean;
  /** Ends the wait for a connection, with an error if one is given. */
  ready(error?: Error): void;
}

let clients: FakeClient[];
const open = () => {
  const fake: FakeClient & Record<string, unknown> = {
    closed: false,
    ready: () => undefined,
    close() {
      fake.closed = true;
    },
    waitForReady(_deadline: number, callback: (error?: Error) => void) {
      fake.ready = callback;
    },
  };
  clients.push(fake);
  return fake as unknown as Client;
};
const closed = () => clients.map((each) => each.closed);

beforeEach(() => {
  clients = [];
});

it("replaces an old client when the new one has connected, and closes it when its last call has ended", () => {
  const connections = createConnections(open, -1);
  const stream = connections.take();
  const call = connections.take();
  expect([clients.length, call.client === stream.client]).toEqual([2, true]);
  clients[1]!.ready();
  expect(connections.take().client).not.toBe(stream.client);
  call.release();
  call.release();
  expect(closed()).toEqual([false, false, false]);
  stream.release();
  expect(closed()).toEqual([true, false, false]);
  connections.close();
  expect(closed()).toEqual([true, true, true]);
});

it("stays with the old client while the new one cannot connect", () => {
  const connections = createConnections(open, -1);
  const { client } = connections.take();
  clients[1]!.ready(new Error("no address"));
  expect(connections.take().client).toBe(client);
  expect(closed()).toEqual([false, true, false]);
  connections.close();
});

it("closes a client that connects after the end", () => {
  const connections = createConnections(open, -1);
  connections.take();
  connections.close();
  clients[1]!.ready();
  expect(closed()).toEqual([true, true]);
});

it("replaces its client when the certificates change, also one without a call now, and tries until it connects", () => {
  vi.useFakeTimers();
  try {
    const connections = createConnections(open, 20_000);
    // Never used: it has no connection with old certificates.
    connections.renew();
    expect(clients.length).toBe(1);
    connections.take().release();
    connections.renew();
    expect(clients.length).toBe(2);
    clients[1]!.ready(new Error("the callee does not accept the new certificate yet"));
    vi.advanceTimersByTime(1_000);
    expect(clients.length).toBe(3);
    // The certificates change again while it connects.
    connections.renew();
    clients[2]!.ready();
    vi.advanceTimersByTime(1_000);
    clients[3]!.ready();
    vi.advanceTimersByTime(60_000);
    expect([clients.length, closed()]).toEqual([4, [true, true, true, false]]);
    connections.close();
  } finally {
    vi.useRealTimers();
  }
});

it("ends streams on a connection with old certificates after a minute or two", () => {
  vi.useFakeTimers();
  try {
    const connections = createConnections(open, 20_000, 60_000);
    const stream = connections.take();
    connections.renew();
    clients[1]!.ready();
    const newer = connections.take();
    vi.advanceTimersByTime(59_000);
    expect(stream.tooOld.aborted).toBe(false);
    vi.advanceTimersByTime(62_000);
    expect([stream.tooOld.aborted, newer.tooOld.aborted]).toEqual([true, false]);
    connections.close();
  } finally {
    vi.useRealTimers();
  }
});

it("leaves a callee that only a removed CA had verified, though no new connection succeeds", () => {
  vi.useFakeTimers();
  try {
    const connections = createConnections(open, 20_000, 60_000);
    const stream = connections.take();
    connections.renew(true);
    const refuseAll = () => {
      for (const client of clients.slice(1)) client.ready(new Error("its certificate is of the removed CA"));
    };
    for (let second = 0; second < 119; second += 1) {
      refuseAll();
      vi.advanceTimersByTime(1_000);
    }
    expect([stream.tooOld.aborted, connections.take().client === stream.client]).toEqual([false, true]);
    vi.advanceTimersByTime(2_000);
    expect([stream.tooOld.aborted, connections.take().client === stream.client]).toEqual([true, false]);
    expect(closed()[0]).toBe(true);
    connections.close();
  } finally {
    vi.useRealTimers();
  }
});
