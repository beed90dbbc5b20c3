import type { CountersignClient, Login } from "@countersign/client";

/** The new phone: shows a code until another phone has decided. */
export async function enroll(client: CountersignClient, login: Login, show: (code: string) => void) {
  const requested = await client.requestTwoFactor({ login, chainName: "flow-emulator" });
  show(client.matchingCode());
  await client.waitForTwoFactor(requested);
}
