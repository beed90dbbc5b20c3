import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestGateway } from "../testing/test-gateway.ts";

const BLOCKS = "/chain/v1/flow-test/v1/blocks?height=sealed";
const port = (server: Server) => (server.address() as AddressInfo).port;
let node: Server;
const start = (chainRequestsPerMinute: number) =>
  startTestGateway({
    chainNodes: { "flow-test": { url: `http://127.0.0.1:${port(node)}`, headers: {} } },
    chainRequestsPerMinute,
  });

beforeAll(async () => {
  node = createServer((request, response) => {
    request.resume();
    request.on("end", () => response.setHeader("content-type", "application/json").end("[]"));
    request.on("error", () => {});
  });
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  node.closeAllConnections();
  node.close();
});

// A thief of the person's login gets an ephemeral token before anybody approves anything.
// A recovery key may be stolen, and then the devices need the chain to revoke it.
it.each([
  ["an ephemeral token", "sign"],
  ["a recovery session", "recover"],
  ["a thief's phone", "phone"],
])("slow requests of %s take no place from the account's other devices", async (_, token) => {
  const gateway = await start(500);
  const slow = Array.from({ length: 8 }, () => connect(Number(new URL(gateway.url).port), "127.0.0.1"));
  for (const socket of slow) {
    socket.on("error", () => {});
    socket.write(`POST /chain/v1/flow-test/v1/transactions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n`);
    socket.write("Content-Type: application/json\r\nContent-Length: 60000\r\n\r\n{");
  }
  const ofThief = async () => (await gateway.send("GET", BLOCKS, { token })).status;
  await expect.poll(ofThief).toBe(429);
  expect((await gateway.send("GET", BLOCKS, { token: "full" })).status).toBe(200);
  for (const socket of slow) socket.destroy();
  await gateway.stop();
});

it.each([
  ["an ephemeral token", "sign"],
  ["a recovery session", "recover"],
  ["a thief's phone", "phone"],
])("requests of %s in a minute are not counted for the account's other devices", async (_, token) => {
  const gateway = await start(2);
  const ofThief = async () => (await gateway.send("GET", BLOCKS, { token })).status;
  await expect.poll(ofThief).toBe(429);
  expect((await gateway.send("GET", BLOCKS, { token: "full" })).status).toBe(200);
  await gateway.stop();
});
