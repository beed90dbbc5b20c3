import { CountersignClient, memoryKeyStore } from "@countersign/client";
import { config } from "../config.ts";
import type { Victim } from "./victim.ts";

/** The thief can log in as the person, and signs in with a key that is not on the account. */
export async function unknownKey({ network, logInFor }: Victim) {
  const deviceKey = await memoryKeyStore().create();
  const thief = new CountersignClient({ baseUrl: config.gateway, deviceKey });
  await thief.signIn({ login: await logInFor(thief.loginNonce), chainName: network.chainName });
}
