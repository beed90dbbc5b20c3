import { createAccountsInBatches } from "../floors/create-accounts.ts";
import { expectOk, HttpConnection } from "../http-connection.ts";
import { eachOnce, type Operation } from "../load.ts";
import { withCpu } from "../with-cpu.ts";
import type { Case } from "./case.ts";

const CLIENTS = 64;
const WARM_UP = 2 * CLIENTS;

/**
 * Measures sign-ups with 64 clients. The floor is the emulator's own rate for accounts that are created
 * directly, ten per transaction.
 */
export const signUp: Case = async (bench) => {
  const { stack, logins, seconds } = bench;
  const { chainName } = stack.chains[0]!;
  const count = Math.max(2 * CLIENTS, Math.round(seconds * 40));
  const floorBefore = await createAccountsInBatches(stack, Math.round(count / 2));
  // Code that runs for the first time takes several times as long.
  const people = await logins(count + WARM_UP);
  const connections = Array.from({ length: CLIENTS }, () => new HttpConnection(stack.gateway));
  const users = people.map(({ deviceKey, login }): Operation => {
    const { publicKey, algorithm } = deviceKey;
    const userKey = {
      type: "device",
      publicKey,
      algorithm,
      device: { publicKey, algorithm, name: "Bench", type: "mobile" },
    };
    const body = JSON.stringify({ ...login, chainName, userKey });
    return async () => {
      const connection = connections.pop()!;
      try {
        expectOk(await connection.send({ method: "POST", path: "/auth/v1/signup", body }));
      } finally {
        connections.push(connection);
      }
    };
  });
  await eachOnce(users.splice(0, WARM_UP), CLIENTS, {});
  const ours = await withCpu(stack, bench, (timed) => eachOnce(users, CLIENTS, timed));
  const floorAfter = await createAccountsInBatches(stack, Math.round(count / 2));
  // Measured before and after, because the emulator gets slower as its state grows.
  const floor = { ...floorBefore, perSecond: (floorBefore.perSecond + floorAfter.perSecond) / 2 };
  return [
    { name: "accounts created directly", measured: floor },
    { name: "sign-up, 64 clients", ...ours, floor: "accounts created directly", goal: 0.7 },
  ];
};
