import { setTimeout as sleep } from "node:timers/promises";
import { sendTransaction } from "@countersign/client";
import { createPhone, networkOf, type Person, signUpPerson, type TestStack } from "@countersign/testing";

/** A transaction that does nothing. */
const NOTHING = "transaction { prepare(a: &Account) {} }";

/** A request that got no answer, or one that is no success. */
export interface FailedRequest {
  /** By performance.now(), when it failed. */
  at: number;
  text: string;
  /** Empty where there was no answer. */
  requestId: string;
}

/** Counts of what the clients did since the load began. */
export interface LoadResult {
  requests: number;
  signUps: number;
  transactions: number;
  failed: readonly FailedRequest[];
}

export interface Load {
  result(): LoadResult;
  /** Lets running requests end. */
  stop(): Promise<LoadResult>;
}

/**
 * Plays people at the gateway: some read their account and sign in again and again, some send transactions,
 * some are new. Counts each HTTP request to the gateway: no client repeats one.
 */
export async function startLoad(surroundings: TestStack): Promise<Load> {
  const result = { requests: 0, signUps: 0, transactions: 0, failed: [] as FailedRequest[] };
  const stop = new AbortController();
  const fail = (text: string, requestId = "") => result.failed.push({ at: performance.now(), text, requestId });
  const counting: typeof fetch = async (input, init) => {
    result.requests += 1;
    const what = `${init?.method ?? "GET"} ${new URL(String(input)).pathname}`;
    try {
      const response = await fetch(input, init);
      if (!response.ok) {
        const text = `${what}: ${response.status} ${(await response.clone().text()).slice(0, 200)}`;
        fail(text, response.headers.get("x-request-id") ?? "");
      }
      return response;
    } catch (error) {
      fail(`${what}: ${(error as Error).message} ${((error as Error).cause as Error | undefined)?.message ?? ""}`);
      throw error;
    }
  };
  const newPerson = async (): Promise<Person> => {
    const person = await signUpPerson(surroundings, createPhone(surroundings, { fetch: counting }));
    result.signUps += 1;
    return person;
  };
  const repeat = async (pauseMs: number, work: () => Promise<unknown>) => {
    while (!stop.signal.aborted) {
      const before = result.failed.length;
      await work().catch((error: unknown) => {
        // Not a request of its own that failed: the chain's answer, or the provider's.
        if (result.failed.length === before) fail(`between requests: ${(error as Error).message}`);
      });
      await sleep(pauseMs);
    }
  };
  const people = [await newPerson(), await newPerson(), await newPerson(), await newPerson()];
  // Its session is a new one each time.
  const [signingIn, sending, ...reading] = people as [Person, Person, ...Person[]];
  const network = networkOf(surroundings);
  const { chainName } = network;
  const running = [
    ...reading.map(({ client }) => repeat(200, () => client.me())),
    repeat(1_000, () => signingIn.client.signIn({ login: signingIn.login, chainName })),
    repeat(500, async () => {
      await sendTransaction(sending.client, { network, cadence: NOTHING });
      result.transactions += 1;
    }),
    repeat(2_000, newPerson),
  ];
  return {
    result: () => result,
    async stop() {
      stop.abort();
      await Promise.all(running);
      return result;
    },
  };
}
