import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "@countersign/build/fail.ts";
import { root } from "@countersign/build/paths.ts";
import type { Address } from "@countersign/client";
import { isRunning } from "@countersign/local-stack/is-running.ts";
import { createPhone, logIn, networkOf } from "@countersign/local-stack/person.ts";
import type { Stack } from "@countersign/local-stack/stack-file.ts";
import { readGreeting, storeGreeting } from "./greeting.ts";

function readStack(): Stack {
  const file = join(root, ".local/stack.json");
  const stack: Stack | undefined = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  // A stack that was killed leaves its stack.json.
  if (!stack?.processes.gateway || !isRunning(stack.processes.gateway.pid))
    throw new Failure("no stack is running: run `npm start` in another terminal first.");
  return stack;
}

/** Prints a line for a step with the time it took. */
async function step<T>(title: string, work: () => Promise<T>, show: (result: T) => string = () => ""): Promise<T> {
  const start = performance.now();
  const result = await work();
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

/** Plays a phone against the running stack: sign-up, sign-in, one co-signed and sponsored transaction. */
export async function demo(): Promise<void> {
  const stack = readStack();
  const network = networkOf(stack);
  const { chainName } = network;
  const email = `demo-${Date.now()}@example.com`;
  const started = performance.now();

  const { client: phone } = createPhone(stack);
  const login = await step(
    "log in at the identity provider",
    () => logIn(stack, email),
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
