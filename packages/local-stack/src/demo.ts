import { Failure } from "@countersign/build/fail.ts";
import type { Address } from "@countersign/client";
import { createPhone, logIn, networkOf, type TestStack } from "@countersign/testing";
import { readGreeting, storeGreeting } from "./greeting.ts";

/** Prints a line for a step with the time it took. Errors: Failure that names the step. */
async function step<T>(title: string, work: () => Promise<T>, show: (result: T) => string = () => ""): Promise<T> {
  const start = performance.now();
  const result = await work().catch((cause: Error) => {
    const why = [cause.message, (cause.cause as Error | undefined)?.message].filter(Boolean).join(": ");
    throw new Failure(`${title}: ${why}`, { cause });
  });
  const text = `${title.padEnd(46)} ${show(result)}`.trimEnd();
  console.log(
    `${Math.round(performance.now() - start)
      .toString()
      .padStart(6)} ms  ${text}`,
  );
  return result;
}

const addressOf = (addresses: readonly Address[], type: Address["chainType"]): string =>
  addresses.find((entry) => entry.chainType === type)?.address ?? "(not there yet)";

/** Plays a phone: sign-up, sign-in, one co-signed and sponsored transaction. Prints each step's time. */
export async function playDemo(surroundings: TestStack): Promise<void> {
  const network = networkOf(surroundings);
  const { chainName } = network;
  const email = `demo-${Date.now()}@example.com`;
  const started = performance.now();

  const { client: phone } = createPhone(surroundings);
  const login = await step(
    "log in at the identity provider",
    () => logIn(surroundings, email),
    () => email,
  );
  const { account, transaction } = await step(
    "sign up: account deployed, key registered",
    () =>
      phone.signUp({ login, chainName, device: { name: "Demo phone", type: "mobile", osName: "demo", lang: "en" } }),
    (signedUp) => `account ${signedUp.account.id}`,
  );
  console.log(`           Flow address  ${addressOf(account.addresses, "cadence")}`);
  console.log(`           EVM address   ${addressOf(account.addresses, "evm")}`);
  console.log(`           deployed by   ${transaction.refUrl}`);

  await step("sign in again: answer a challenge", () => phone.signIn({ login, chainName }));
  const me = await step("read account/me", () => phone.me());
  const greeting = `hello from ${me.id.slice(-12)}`;
  const sent = await step(
    "store a string: co-signed, sponsored, sealed",
    () => storeGreeting(phone, network, greeting),
    ({ id }) => `transaction ${id.slice(0, 16)}…`,
  );
  const read = await step(
    "read it back from the chain",
    () => readGreeting(network, addressOf(me.addresses, "cadence").slice(2)),
    (text) => JSON.stringify(text),
  );
  if (read !== greeting) throw new Failure(`the chain holds ${JSON.stringify(read)} instead of ${greeting}.`);
  await step("sign out", () => phone.signOut());
  console.log(`done in ${((performance.now() - started) / 1000).toFixed(1)} s; sealed as ${sent.id}`);
}
