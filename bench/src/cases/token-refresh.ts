import { expectOk, HttpConnection } from "../http-connection.ts";
import { closedLoop, type Operation } from "../load.ts";
import { withCpu } from "../with-cpu.ts";
import type { Case } from "./case.ts";

/** Exchanging a refresh token, each user on a session of its own, the next with what the last gave. */
export const tokenRefresh: Case = async (bench) => {
  const { stack, connections, residents } = bench;
  const { chainName } = stack.chains[0]!;
  const users = await Promise.all(
    Array.from({ length: connections }, async (_, i): Promise<Operation> => {
      const connection = new HttpConnection(stack.gateway);
      const { client, login } = residents[i % residents.length]!;
      let { refreshToken } = (await client.signIn({ login, chainName })).credentials;
      return async () => {
        const body = JSON.stringify({ refreshToken });
        const answer = expectOk(await connection.send({ method: "POST", path: "/auth/v1/token/refresh", body }));
        refreshToken = JSON.parse(answer).credentials.refreshToken;
      };
    }),
  );
  return [{ name: "token refresh", ...(await withCpu(stack, bench, (timed) => closedLoop(users, timed))) }];
};
