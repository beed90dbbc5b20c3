import { createAccountsInBatches } from "../floors/create-accounts.ts";
import { expectOk, HttpConnection } from "../http-connection.ts";
import { eachOnce, type Operation } from "../load.ts";
import { withCpu } from "../processes.ts";
import type { Case } from "./case.ts";

const CLIENTS = 64;

/** Sign-ups with 64 clients, beside the emulator's own rate for the same accounts created directly, ten a transaction. */
export const signUp: Case = async (bench) => {
  const { stack, logins, seconds } = bench;
  const { chainName } = stack.chains[0]!;
  const count = Math.max(2 * CLIENTS, Math.round(seconds * 40));
  const floorBefore = await createAccountsInBatches(stack, Math.round(count / 2));
  const newcomers = await logins(count);
  const connections = Array.from({ length: CLIENTS }, () => new HttpConnection(stack.gateway));
  const users = newcomers.map(({ deviceKey, login }): Operation => {
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
  const ours = await withCpu(stack, () => eachOnce(users, CLIENTS));
  const floorAfter = await createAccountsInBatches(stack, Math.round(count / 2));
  // Before and after: the emulator gets slower as its state grows.
  const floor = { ...floorBefore, perSecond: (floorBefore.perSecond + floorAfter.perSecond) / 2 };
  return [
    { name: "accounts created directly", measured: floor },
    { name: "sign-up, 64 clients", ...ours, floor: "accounts created directly", goal: 0.7 },
  ];
};
