import { CountersignClient, memoryKeyStore } from "@countersign/client";
import { config } from "../config.ts";
import type { Victim } from "./victim.ts";

/** The person's login is stolen, and used with the thief's own key. */
export async function stolenLogin({ network, login }: Victim) {
  const deviceKey = await memoryKeyStore().create();
  const thief = new CountersignClient({ baseUrl: config.gateway, deviceKey });
  await thief.requestTwoFactor({ login: await login(), chainName: network.chainName });
}
