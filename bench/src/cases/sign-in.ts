import { bytesToHex, hexToBytes } from "@countersign/keys";
import { expectOk, HttpConnection } from "../http-connection.ts";
import { closedLoop, fixedRate, type Operation } from "../load.ts";
import { withCpu } from "../with-cpu.ts";
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

/** Measures sign-ins: requesting a challenge and responding to it, two requests in one operation. */
export const signIn: Case = async (bench) => {
  const { stack, residents } = bench;
  const { chainName } = stack.chains[0]!;
  const users = signInUsers(bench);
  const ours = await withCpu(stack, bench, (timed) => closedLoop(users, timed));
  const atHalf = await withCpu(stack, bench, (timed) => fixedRate(users, ours.measured.perSecond / 2, timed));
  // The clients' sessions were replaced; the next case needs clients that are signed in.
  await Promise.all(residents.map(({ client, login }) => client.signIn({ login, chainName })));
  return [
    { name: "challenge + respond", ...ours, goalPerSecond: 1000 },
    { name: "challenge + respond at half load", ...atHalf, goalP99: 25 },
  ];
};
