import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { makeAuthority, makeLeaf, readAuthority } from "@countersign/local-stack/certificates.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createPool } from "./pool.ts";

const directory = mkdtempSync(join(tmpdir(), "countersign-database-certificates-"));
const path = (name: string) => join(directory, name);
const SECOND_MS = 1_000;
const sockets: Socket[] = [];

/** A server of Postgres' protocol over TLS that accepts everybody and answers nothing. */
const server = createServer((socket) => {
  sockets.push(socket);
  socket.once("data", () => {
    socket.write("S");
    const files = { key: readFileSync(path("server.key")), cert: readFileSync(path("server.pem")) };
    const secure = new TLSSocket(socket, { isServer: true, ...files, requestCert: true, rejectUnauthorized: false });
    secure.on("error", () => undefined);
    secure.once("data", () => secure.write(Buffer.from("5200000008000000005a0000000549", "hex")));
  });
});

const issue = async (name: string, lifeMs: number) => {
  const authority = await readAuthority(path("ca.pem"), path("ca.key"));
  await makeLeaf(name, { cert: path(`${name}.pem`), key: path(`${name}.key`) }, authority, lifeMs);
};

beforeAll(async () => {
  await makeAuthority(path("ca.pem"), path("ca.key"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
  rmSync(directory, { recursive: true });
});

it("each new connection reads the certificate's files again, and reports when both certificates end", async () => {
  const { port } = server.address() as AddressInfo;
  const files = `sslcert=${path("client.pem")}&sslkey=${path("client.key")}&sslrootcert=${path("ca.pem")}`;
  const ends: { server: Date | undefined; client: Date | undefined }[] = [];
  const url = `postgresql://somebody:x@127.0.0.1:${port}/none?sslmode=no-verify&${files}`;
  await Promise.all([issue("server", 100 * SECOND_MS), issue("client", 200 * SECOND_MS)]);
  const pool = createPool(url, { onConnect: (each) => void ends.push(each) });
  const first = await pool.connect();
  await Promise.all([issue("server", 300 * SECOND_MS), issue("client", 400 * SECOND_MS)]);
  const second = await pool.connect();
  const seconds = (date: Date | undefined) => (date!.getTime() - Date.now()) / SECOND_MS;
  const near = (value: number) => expect.closeTo(value, -1.5);
  expect(ends.map((each) => [seconds(each.server), seconds(each.client)])).toEqual([
    [near(100), near(200)],
    [near(300), near(400)],
  ]);
  for (const client of [first, second]) client.release(true);
  void pool.end();
});
