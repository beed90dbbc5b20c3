import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Child } from "@countersign/local-stack/child.ts";
import pg from "pg";
import { answerNonce, startBetterAuth } from "../../peers/better-auth.ts";
import { logIn, startKratos } from "../../peers/kratos.ts";
import { startOpenBao } from "../../peers/openbao.ts";
import { expectOk, HttpConnection } from "../http-connection.ts";
import { closedLoop, type Operation } from "../load.ts";
import { messagesOf } from "../messages.ts";
import { overHttp } from "../signing-users.ts";
import { withCpu } from "../with-cpu.ts";
import { meUsers } from "./account-me.ts";
import type { Bench, Case, Row } from "./case.ts";
import { measureFullLoad } from "./paymaster.ts";
import { signInUsers } from "./sign-in.ts";

/**
 * Measures the same work of other products beside ours, on the same machine, Postgres and load generator:
 * Ory Kratos' whoami, OpenBao's transit signature, better-auth's sign-in by signature. bench/peers/README.md
 * has what is alike and what is not.
 */
export const peers: Case = async (bench) => {
  const directory = mkdtempSync(join(tmpdir(), "countersign-peers-"));
  const started: Child[] = [];
  try {
    return [
      ...(await besideKratos(bench, directory, started)),
      ...(await besideBetterAuth(bench, directory, started)),
      ...(await besideOpenBao(bench, directory, started)),
    ];
  } finally {
    for (const child of started) await child.stop();
    rmSync(directory, { recursive: true, force: true });
  }
};

/** Makes an empty database on the stack's Postgres. */
async function createDatabase({ stack }: Bench, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: stack.postgres });
  await client.connect();
  await client.query(`DROP DATABASE IF EXISTS ${name}`);
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(stack.postgres);
  url.pathname = name;
  return url.href;
}

/** Measures a peer's processor time too, with that of the Postgres that both share. */
const measurePeer = ({ stack, ...bench }: Bench, child: Child, users: Operation[]) => {
  const processes = { [child.name]: { pid: child.pid }, postgres: stack.processes.postgres! };
  return withCpu({ processes }, bench, (timed) => closedLoop(users, timed));
};

async function besideKratos(bench: Bench, directory: string, started: Child[]): Promise<Row[]> {
  const databaseUrl = await createDatabase(bench, "peer_kratos");
  const kratos = await startKratos({ databaseUrl, directory, say: bench.say });
  started.push(kratos.child);
  const users: Operation[] = [];
  for (let i = 0; i < bench.connections; i++) {
    const token = await logIn(kratos, `person-${i}`);
    const connection = new HttpConnection(kratos.url);
    users.push(async () => expectOk(await connection.send({ method: "GET", path: "/sessions/whoami", token })));
  }
  const theirs = await measurePeer(bench, kratos.child, users);
  await kratos.child.stop();
  const ours = await withCpu(bench.stack, bench, (timed) => closedLoop(meUsers(bench, bench.stack.gateway), timed));
  return [
    { name: "Kratos: whoami", ...theirs },
    { name: "Countersign: account/me", ...ours, floor: "Kratos: whoami", goal: 5 },
  ];
}

async function besideBetterAuth(bench: Bench, directory: string, started: Child[]): Promise<Row[]> {
  const databaseUrl = await createDatabase(bench, "peer_better_auth");
  const peer = await startBetterAuth({ databaseUrl, directory, say: bench.say }, bench.connections);
  started.push(peer.child);
  const users = peer.people.map((person): Operation => {
    const connection = new HttpConnection(peer.url);
    const post = async (path: string, body: object) =>
      JSON.parse(expectOk(await connection.send({ method: "POST", path, body: JSON.stringify(body) })));
    return async () => {
      const { nonce } = await post("/api/auth/siwe/nonce", {});
      await post("/api/auth/siwe/verify", answerNonce(person, peer.url, nonce));
    };
  });
  const theirs = await measurePeer(bench, peer.child, users);
  await peer.child.stop();
  const ours = await withCpu(bench.stack, bench, (timed) => closedLoop(signInUsers(bench), timed));
  const { chainName } = bench.stack.chains[0]!;
  // The clients' sessions were replaced; the next measurement needs clients that are signed in.
  await Promise.all(bench.residents.map(({ client, login }) => client.signIn({ login, chainName })));
  return [
    { name: "better-auth: sign-in by signature", ...theirs },
    { name: "Countersign: sign-in (challenge + respond)", ...ours, floor: "better-auth: sign-in by signature" },
  ];
}

async function besideOpenBao(bench: Bench, directory: string, started: Child[]): Promise<Row[]> {
  const peer = await startOpenBao({ directory, say: bench.say });
  if (peer === undefined) {
    bench.say("  without OpenBao: CS_OPENBAO names neither a checkout nor a binary");
    return [];
  }
  started.push(peer.child);
  const people = await messagesOf(bench);
  const rows: Row[] = [];
  for (const count of [32, 128]) {
    const users = Array.from({ length: count }, (_, i): Operation => {
      const connection = new HttpConnection(peer.url);
      const { transaction } = people[i % people.length]!;
      const bodies = transaction.map((message) => JSON.stringify({ input: message.toString("base64") }));
      let n = 0;
      return async () => {
        n += 1;
        const body = bodies[n % bodies.length]!;
        const path = "/v1/transit/sign/account/sha2-256";
        expectOk(await connection.send({ method: "POST", path, token: peer.token, body }));
      };
    });
    const name = `OpenBao: transit, ${count} connections`;
    rows.push({ name, ...(await measurePeer(bench, peer.child, users)) });
    const ours = await withCpu(bench.stack, bench, (timed) =>
      measureFullLoad(overHttp(bench.stack.gateway, people, "transaction", count), timed),
    );
    rows.push({ name: `Countersign: transaction, ${count} connections`, ...ours, floor: name, goal: 4 });
  }
  return rows;
}
