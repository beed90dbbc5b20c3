import type { Client } from "@grpc/grpc-js";
import { beforeEach, expect, it } from "vitest";
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
