import { bytesToHex, hexToBytes } from "@countersign/keys";
import pg from "pg";
import { startFloor } from "../floors/start-floor.ts";
import { expectOk, HttpConnection } from "../http-connection.ts";
import { closedLoop, fixedRate, type Operation } from "../load.ts";
import { withCpu } from "../with-cpu.ts";
import { meUsers } from "./account-me.ts";
import type { Bench, Case } from "./case.ts";

/** Creates users that sign in with their device's key: a challenge and its answer are one operation. */
export function signInUsers({ stack, connections, residents }: Bench): Operation[] {
  const { chainName } = stack.chains[0]!;
  return Array.from({ length: connections }, (_, i) => {
    const connection = new HttpConnection(stack.gateway);
    const { deviceKey, login } = residents[i % residents.length]!;
    const { publicKey, algorithm } = deviceKey;
    const ask = JSON.stringify({ challengeType: "deviceKey", request: { ...login, chainName }, publicKey, algorithm });
    return async () => {
      const asked = await connection.send({ method: "POST", path: "/auth/v1/signin/challenge", body: ask });
      const { challengeData } = JSON.parse(expectOk(asked));
      const signature = bytesToHex(await deviceKey.sign(hexToBytes(challengeData)));
      const body = JSON.stringify({ challengeType: "deviceKey", challengeData, deviceKey: { signature } });
      expectOk(await connection.send({ method: "POST", path: "/auth/v1/signin/challenge/respond", body }));
    };
  });
}

/**
 * Makes the sign-ins those of other days: one causes no notice if its device was registered within the last
 * ten minutes, or if its account had twenty in a day. Returns what ends it.
 */
async function asOnOtherDays({ stack, residents }: Bench): Promise<() => Promise<void>> {
  const url = new URL(stack.postgres);
  url.pathname = new URL(stack.databases.device!).pathname;
  const device = new pg.Client({ connectionString: url.href });
  await device.connect();
  const { rows } = await device.query(
    "UPDATE device SET created_at = created_at - interval '1 hour' WHERE public_key = ANY($1) RETURNING account_id",
    [residents.map(({ deviceKey }) => deviceKey.publicKey)],
  );
  const accountIds = rows.map((row: { account_id: string }) => row.account_id);
  const forget = () => device.query("DELETE FROM delivery WHERE account_id = ANY($1)", [accountIds]);
  const forgetting = setInterval(() => void forget(), 1_000);
  return () => {
    clearInterval(forgetting);
    return device.end();
  };
}

/** Two requests of express that answers a constant, at full load and at a rate. */
async function measureFloor(bench: Bench, rate: number) {
  const floor = await startFloor("bare-express");
  const pairs = meUsers(bench, `http://${floor.address}`).map((request) => async () => {
    await request();
    await request();
  });
  const processes = { processes: { express: { pid: floor.pid } } };
  const full = await withCpu(processes, bench, (timed) => closedLoop(pairs, timed));
  const atRate = await withCpu(processes, bench, (timed) => fixedRate(pairs, rate, timed));
  floor.stop();
  return [
    { name: "bare express, two requests", ...full },
    { name: "bare express, two requests, half load of sign-in", ...atRate },
  ];
}

/**
 * Measures sign-ins: requesting a challenge and responding to it, two requests in one operation. The floor
 * shows what a request costs a process that is woken for it alone. It warms up for longer than other cases:
 * a process takes 10 to 20% less for a sign-in once V8 has compiled what each one calls a few times.
 */
export const signIn: Case = async (bench) => {
  const { stack, residents } = bench;
  const { chainName } = stack.chains[0]!;
  const endOtherDays = await asOnOtherDays(bench);
  // Each resident has a connection: with 32 an eighth of both cores waits for commits.
  const users = signInUsers({ ...bench, connections: residents.length });
  const warmUpSeconds = 5 * bench.warmUpSeconds;
  const ours = await withCpu(stack, { ...bench, warmUpSeconds }, (timed) => closedLoop(users, timed));
  const half = ours.measured.perSecond / 2;
  const atHalf = await withCpu(stack, bench, (timed) => fixedRate(users, half, timed));
  await endOtherDays();
  const floor = await measureFloor(bench, half);
  // The clients' sessions were replaced; the next case needs clients that are signed in.
  await Promise.all(residents.map(({ client, login }) => client.signIn({ login, chainName })));
  return [
    { name: "sign-in (challenge + respond)", ...ours, goalPerSecond: 1000 },
    { name: "sign-in (challenge + respond), half load", ...atHalf, goalP99: 25 },
    ...floor,
  ];
};
