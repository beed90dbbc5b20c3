import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { services } from "@countersign/build/paths.ts";
import { MAX_CONNECTIONS } from "@countersign/local-stack/testing/postgres-connections.ts";
import pg from "pg";
import { expect, it } from "vitest";
import { signUpPerson, stack } from "../support/person.ts";

/** Returns the ports of 127.0.0.1 that a process is connected to, one for each connection. */
function portsOf(pid: number): number[] {
  const inodes = new Set<string>();
  for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${descriptor}`)) ?? [];
      if (inode) inodes.add(inode);
    } catch {
      // It was closed meanwhile.
    }
  }
  const lines = readFileSync("/proc/net/tcp", "utf8").trim().split("\n").slice(1);
  const connections = lines.map((line) => line.trim().split(/\s+/));
  const established = connections.filter(([, , , state, , , , , , inode]) => state === "01" && inodes.has(inode!));
  return established.map(([, , remote]) => Number.parseInt(remote!.split(":")[1]!, 16));
}

it("a replica has the documented number of connections to Postgres at most", async () => {
  await Promise.all(Array.from({ length: 5 }, () => signUpPerson()));
  for (const service of services) {
    const client = new pg.Client({ connectionString: stack.databases[service], application_name: "this test" });
    await client.connect();
    const own = "datname = current_database() AND backend_type = 'client backend'";
    const { rows } = await client.query(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${own} AND application_name = 'countersign'`,
    );
    await client.end();
    const replicas = Object.keys(stack.processes).filter((name) => name.replace(/-\d+$/, "") === service).length;
    console.log(`${service}: ${rows[0].n} connections of ${replicas} replicas`);
    expect(rows[0].n).toBeLessThanOrEqual(MAX_CONNECTIONS[service] * replicas);
  }
});

it.runIf(process.platform === "linux")("a process has two connections to each peer at most", async () => {
  await signUpPerson();
  for (const [name, { pid }] of Object.entries(stack.processes)) {
    for (const [peer, { grpc }] of Object.entries(stack.processes)) {
      if (grpc === undefined || peer === name) continue;
      const connections = () => portsOf(pid).filter((port) => port === Number(grpc.split(":")[1])).length;
      // The gateway keeps its streams of events apart. An earlier connection is closed with its last call.
      const allowed = name.startsWith("gateway") && peer.startsWith("device") ? 4 : 2;
      await expect
        .poll(connections, { timeout: 30_000, message: `of ${name} to ${peer}` })
        .toBeLessThanOrEqual(allowed);
    }
  }
});

it.runIf(process.platform === "linux")("a service has one connection to NATS", () => {
  for (const [name, { pid, grpc }] of Object.entries(stack.processes)) {
    const connections = portsOf(pid).filter((port) => port === Number(new URL(stack.nats).port));
    if (grpc !== undefined) expect(connections.length, name).toBe(1);
  }
});
