import { startFloor } from "../floors/start-floor.ts";
import { expectOk, HttpConnection } from "../http-connection.ts";
import { closedLoop, type Operation } from "../load.ts";
import { withCpu } from "../with-cpu.ts";
import type { Bench, Case } from "./case.ts";

/** Creates users that read their own account, each over a connection of its own. */
export function meUsers({ connections, residents }: Bench, baseUrl: string): Operation[] {
  return Array.from({ length: connections }, (_, i) => {
    const connection = new HttpConnection(baseUrl);
    const token = residents[i % residents.length]!.client.credentials!.accessToken;
    return async () => expectOk(await connection.send({ method: "GET", path: "/account/v1/me", token }));
  });
}

/** Measures GET /account/v1/me with a session's token; the floor is express that answers a constant. */
export const accountMe: Case = async (bench) => {
  const floor = await startFloor("bare-express");
  const bare = await closedLoop(meUsers(bench, `http://${floor.address}`), bench);
  floor.stop();
  const ours = await withCpu(bench.stack, bench, (timed) => closedLoop(meUsers(bench, bench.stack.gateway), timed));
  return [
    { name: "bare express", measured: bare },
    { name: "account/me", ...ours, floor: "bare express", goal: 0.3 },
  ];
};
