import { createAccessApi } from "@countersign/flow";
import { expect, it } from "vitest";
import { chain, chainName, logIn, newEmail, newPhone, signUpPerson, stack } from "./person.ts";

const access = createAccessApi({ baseUrl: chain.accessNode });

/** Freezes a process while `work` runs its first `ms`, as a machine that stalls would. */
async function stalled<T>(name: string, ms: number, work: () => Promise<T>): Promise<T> {
  const { pid } = stack.processes[name]!;
  process.kill(pid, "SIGSTOP");
  const running = work();
  running.catch(() => undefined);
  try {
    await new Promise((resolve) => setTimeout(resolve, ms));
  } finally {
    process.kill(pid, "SIGCONT");
  }
  return running;
}

it.each(["signer", "account", "key", "device", "nats"])(
  "a sign-up outlives a stall of %s, and deploys once",
  async (name) => {
    const { client, deviceKey } = newPhone();
    const login = await logIn(newEmail());
    const ask = () => client.signUp({ login, chainName });
    // The client does what clients do: it asks again, until it has an answer.
    const signedUp = await stalled(name, 3_500, async () => {
      for (;;) {
        try {
          return await ask();
        } catch (error) {
          const { status } = error as { status?: number };
          if (status !== undefined && status < 500 && status !== 409) throw error;
          if (status === 409) return client.signIn({ login, chainName });
        }
      }
    });
    await expect.poll(async () => (await client.me()).addresses.length, { timeout: 20_000 }).toBe(2);
    const { id, addresses } = await client.me();
    expect(id).toBe(signedUp.account.id);
    const address = addresses.find(({ chainType }) => chainType === "cadence")!.address.slice(2);
    expect((await access.accountKeys(address))[1]?.publicKey).toBe(deviceKey.publicKey);
    expect(await client.devices()).toHaveLength(1);
    expect(await client.keys()).toHaveLength(1);
  },
);

it("the stack is whole afterwards", async () => {
  const { signedUp } = await signUpPerson();
  expect(signedUp.account.addresses).toHaveLength(2);
});
