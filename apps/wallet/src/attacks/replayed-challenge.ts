import type { Victim } from "./victim.ts";

/** The phone answers a challenge and is signed in; the same answer is sent once more. */
export async function replayedChallenge({ client, network, login }: Victim) {
  const challenge = await client.requestChallenge({ login: await login(), chainName: network.chainName });
  await client.respondChallenge(challenge);
  await client.respondChallenge(challenge);
}
