import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { createResolve } from "./resolve.ts";

const [A, AAAA] = [1, 28];

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close();
});

/** Starts a name server, which answers about `names` only. Returns its address and the names asked for. */
async function nameServer(names: Readonly<Record<string, Readonly<Record<number, readonly number[]>>>>) {
  const asked: string[] = [];
  const socket = createSocket("udp4", (query, { port, address }) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at]!; length > 0; length = query[at]!) {
      labels.push(query.toString("ascii", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const name = labels.join(".");
    asked.push(name);
    const records = names[name];
    if (records === undefined) return;
    const data = records[query.readUInt16BE(at + 1)];
    const question = query.subarray(12, at + 5);
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, data ? 1 : 0, 0, 0, 0, 0]);
    // The name of the question, its type and class, a lifetime of a minute.
    const record = data ? [0xc0, 12, ...question.subarray(-4), 0, 0, 0, 60, 0, data.length, ...data] : [];
    socket.send(Buffer.concat([header, question, Buffer.from(record)]), port, address);
  }).bind(0, "127.0.0.1");
  sockets.push(socket);
  await once(socket, "listening");
  return { asked, servers: [`127.0.0.1:${(socket.address() as AddressInfo).port}`] };
}

describe("a name", () => {
  const ipv6 = [0x20, 1, 0xd, 0xb8, ...Array<number>(11).fill(0), 1];

  it("leads to its addresses of both families, or of the one that it has", async () => {
    const { servers } = await nameServer({
      "both.example": { [A]: [8, 8, 4, 4], [AAAA]: ipv6 },
      "new.example": { [AAAA]: ipv6 },
      "empty.example": {},
    });
    const resolve = createResolve(servers);
    const newer = { address: "2001:db8::1", family: 6 };
    expect(await resolve("both.example")).toEqual([{ address: "8.8.4.4", family: 4 }, newer]);
    expect(await resolve("new.example")).toEqual([newer]);
    await expect(resolve("empty.example")).rejects.toMatchObject({ code: "ENODATA" });
  });

  it("of a name server that does not answer holds up no other", async () => {
    const { asked, servers } = await nameServer({ "quick.example": { [A]: [8, 8, 4, 4] } });
    const resolve = createResolve(servers);
    const answered: string[] = [];
    const slow = Array.from({ length: 8 }, (_, i) => `slow${i}.example`);
    for (const name of slow) resolve(name).catch(() => answered.push(name));
    expect(await resolve("quick.example")).toEqual([{ address: "8.8.4.4", family: 4 }]);
    expect(answered).toEqual([]);
    expect(asked).toEqual(expect.arrayContaining(slow));
  });

  it("of this machine is not asked for", async () => {
    const { asked, servers } = await nameServer({});
    expect(await createResolve(servers)("localhost")).toEqual([{ address: "127.0.0.1", family: 4 }]);
    expect(asked).toEqual([]);
  });
});
