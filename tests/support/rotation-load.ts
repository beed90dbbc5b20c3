import { setTimeout as sleep } from "node:timers/promises";
import { tlsFiles } from "@countersign/local-stack/certificates.ts";
import { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { type SignAnswer, SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcChannel } from "@countersign/rpc";
import { createLogger, createMetrics, loadTls, watchFiles } from "@countersign/runtime";
import { expect } from "vitest";
import type { FaultStack } from "../faults/fault-stack.ts";
import { createPerson, type Person, persist, signIn, signUp, transact, untilComplete } from "../faults/person.ts";
import { CHANGED_EXPLORER, certificateRotation, rotatePeers } from "./rotation.ts";

const RESIDENTS = 2;

/** Returns the networks as a client gets them. */
async function networksOf({ stack, client }: Person): Promise<unknown> {
  const answer = await fetch(`${stack.gateway}/account/v1/networks`, {
    headers: { authorization: `Bearer ${client.credentials!.accessToken}` },
  });
  return ((await answer.json()) as { networks: unknown }).networks;
}

/** Starts a backend of somebody else, whose certificate is rotated too. */
function startBackend({ stack }: FaultStack) {
  const files = watchFiles({
    logger: createLogger({ name: "backend", level: "silent" }),
    metrics: createMetrics("backend", { defaults: false }),
  });
  const tls = files.watch("tls", (read) => loadTls(tlsFiles(stack.stateDir, "demo-backend"), read));
  const { grpc } = stack.processes.signer!;
  const channel = createRpcChannel({ address: grpc!, tls, serverName: "signer", deadlineMs: 5_000 });
  const information = channel.client(InformationService);
  const signing = channel.client(SigningService);
  const { chainName } = stack.chains[0]!;
  return {
    call: () => information.getPublicKeys({ chainName }),
    /** Opens a stream; resolves with its error when it ends. */
    openStream(): Promise<unknown> {
      const never = async function* never(): AsyncGenerator<never> {
        await new Promise(() => undefined);
      };
      const read = async (answers: AsyncIterable<{ answers: SignAnswer[] }>) => {
        for await (const _ of answers);
      };
      return read(signing.signStream(never())).catch((error: unknown) => error);
    },
    async close() {
      channel.close();
      await files.close();
    },
  };
}

type Backend = ReturnType<typeof startBackend>;

/** People who use everything, without a pause, until they are stopped. */
function startLoad({ stack }: FaultStack, residents: number) {
  const persons: Person[] = [];
  let stopped = false;
  const done = { signUps: 0, signIns: 0, refreshes: 0, transactions: 0, events: 0, streams: 0 };
  const lost: string[] = [];
  const join = async (): Promise<Person> => {
    const person = createPerson(stack, persons.length);
    persons.push(person);
    await signUp(person);
    await untilComplete(person);
    done.signUps += 1;
    return person;
  };
  /** Follows the person's events; every change of the device must arrive once. */
  const followEvents = (person: Person) => {
    const abort = new AbortController();
    const names: string[] = [];
    const seen: string[] = [];
    const following = (async () => {
      done.streams += 1;
      for await (const { type } of person.client.events({ signal: abort.signal })) {
        if (type !== "device.updated") continue;
        seen.push(type);
        done.events += 1;
      }
    })().catch((error: unknown) => {
      if (!abort.signal.aborted) lost.push(`events of ${person.email}: ${error}`);
    });
    return {
      async change() {
        names.push(`Name ${names.length}`);
        await persist(person, "rename", () => person.client.updateDevice({ name: names.at(-1)! }));
      },
      async end() {
        // A stream that ended early says why, and is counted as lost.
        if (!lost.some((line) => line.includes(person.email)))
          await expect.poll(() => seen.length, { timeout: 30_000, message: "events that arrived" }).toBe(names.length);
        abort.abort();
        await following;
      },
    };
  };
  const live = async () => {
    const person = await join();
    const events = followEvents(person);
    // The stream begins with the events after its first answer.
    await sleep(1_000);
    while (!stopped) {
      await signIn(person);
      done.signIns += 1;
      await persist(person, "refresh", () => person.client.refresh());
      done.refreshes += 1;
      await transact(person);
      done.transactions += 1;
      await events.change();
    }
    await events.end();
  };
  const arrive = async () => {
    while (!stopped) {
      await transact(await join());
      done.transactions += 1;
    }
  };
  const work = Promise.all([...Array.from({ length: residents }, live), arrive()]);
  work.catch(() => undefined);
  return {
    persons,
    async stop() {
      stopped = true;
      await work;
      const requests = persons.reduce((sum, { answers }) => sum + answers.length, 0);
      const failed = persons.flatMap(({ answers }) =>
        answers.filter((answer) => / 5\d\d/.test(answer) || /error/i.test(answer)),
      );
      return { requests, failed: [...failed, ...lost], ...done };
    },
  };
}

interface Replaceable {
  backend: Backend;
  certificates: ReturnType<typeof certificateRotation>;
}

/**
 * Runs `work`, which replaces certificates of this life and everything else, under load. No request may fail,
 * and clients must get the changed networks. Returns the persons of the load, and the certificates.
 */
export async function replaceUnderLoad(
  stack: FaultStack,
  certificateMs: number,
  work: (replaceable: Replaceable) => Promise<void>,
) {
  const load = startLoad(stack, RESIDENTS);
  const backend = startBackend(stack);
  const certificates = certificateRotation(stack, certificateMs);
  const began = performance.now();
  try {
    await work({ backend, certificates });
    const changed = [{ explorerUrl: CHANGED_EXPLORER }];
    // Again where a sign-in of the load has just replaced the session of the token.
    await expect.poll(() => networksOf(load.persons[0]!), { timeout: 20_000 }).toMatchObject(changed);
  } finally {
    await backend.close();
  }
  const { failed, ...counts } = await load.stop();
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(`rotation: ${seconds} s, ${JSON.stringify(counts)}, ${failed.length} failed`);
  if (failed.length > 0) console.log(stack.troubles().slice(-80).join("\n"));
  expect(failed).toEqual([]);
  expect(stack.died()).toEqual([]);
  return { persons: load.persons, certificates };
}

/** Removes a backend's rights, which ends its calls and its open stream, and gives them back. */
export async function removeRights(stack: FaultStack, backend: Backend, stream: Promise<unknown>): Promise<void> {
  await rotatePeers(stack, "without");
  const removedAt = performance.now();
  await expect(backend.call()).rejects.toMatchObject({ reason: "CallerNotAllowed" });
  expect(await stream).toMatchObject({ reason: "CallerNotAllowed" });
  expect(performance.now() - removedAt).toBeLessThan(2_000);
  await rotatePeers(stack, "with");
}
