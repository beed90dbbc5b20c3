import { startFloor } from "../floors/start-floor.ts";
import { expectOk, HttpConnection } from "../http-connection.ts";
import { closedLoop, type Operation } from "../load.ts";
import { withCpu } from "../with-cpu.ts";
import type { Case } from "./case.ts";

/** Measures GET /account/v1/me with a session's token; the floor is express that answers a constant. */
export const accountMe: Case = async (bench) => {
  const { stack, connections, residents } = bench;
  const users = (baseUrl: string): Operation[] =>
    Array.from({ length: connections }, (_, i) => {
      const connection = new HttpConnection(baseUrl);
      const { client } = residents[i % residents.length]!;
      const { accessToken } = client.credentials!;
      return async () => expectOk(await connection.send({ method: "GET", path: "/account/v1/me", token: accessToken }));
    });
  const floor = await startFloor("bare-express");
  const bare = await closedLoop(users(`http://${floor.address}`), bench);
  floor.stop();
  const ours = await withCpu(stack, bench, (timed) => closedLoop(users(stack.gateway), timed));
  return [
    { name: "bare express", measured: bare },
    { name: "account/me", ...ours, floor: "bare express", goal: 0.3 },
  ];
};
