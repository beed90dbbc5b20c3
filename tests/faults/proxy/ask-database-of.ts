import type { ServiceName } from "@countersign/build/paths.ts";
import { ProblemError } from "@countersign/client";
import { networkOf } from "@countersign/testing";
import { loginOf, type Person } from "../person.ts";

/** Calls that each service cannot answer without its database. */
const NEEDS_DATABASE: Record<ServiceName, (person: Person, message: string) => Promise<unknown>> = {
  // Auth's limits use connections of their own.
  auth: async (person) => {
    const request = { login: await loginOf(person), chainName: networkOf(person.stack).chainName };
    return Promise.all([person.client.sessions(), person.client.requestChallenge(request)]);
  },
  device: ({ client }) => client.devices(),
  key: ({ client }) => client.keys(),
  // Refused as not linked, after the database was written.
  account: ({ client }) => client.linkParent(),
  signer: ({ client }, message) => client.signTransaction(message),
};

/**
 * Calls a service; returns the HTTP status and the milliseconds that it took. `message` is one that the
 * person may have signed as authorizer.
 */
export async function askDatabaseOf(service: ServiceName, person: Person, message: string) {
  const started = performance.now();
  const status = await NEEDS_DATABASE[service](person, message).then(
    () => 200,
    (error: unknown) => {
      if (error instanceof ProblemError) return error.status;
      throw error;
    },
  );
  return { service, status, ms: performance.now() - started };
}
