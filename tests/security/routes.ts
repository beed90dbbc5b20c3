import { randomUUID } from "node:crypto";
import { type Operation, operations } from "../e2e/contract/openapi.ts";
import { rows } from "../e2e/contract/rows/index.ts";
import { attackerPhone, type Victim } from "./attacker.ts";

/** A valid request of a route, without the token. */
export interface Sample {
  path: string;
  body?: Record<string, unknown>;
}

/** A route of the gateway's document, with a valid request from the rows of the contract. */
export interface HostileRoute extends Operation {
  /** Returns a sample that is valid in every field and can be sent repeatedly without relevant effects. */
  sample(victim: Victim): Sample;
  /** The answer to the sample: the status of success, or the error of the last rule. */
  answers: (200 | 204 | string)[];
  /** Sent with the token of an account that does not exist, since it would affect a real one. */
  asNobody: boolean;
}

/** Returns the path with names that nobody has, new ones each time. */
const filled = (path: string): string =>
  path.replace("{id}", () => randomUUID()).replace("{publicKey}", () => attackerPhone().deviceKey.publicKey);

/** Every route. A test of the contract sees to it that each has its row. */
export const HOSTILE_ROUTES: readonly HostileRoute[] = Object.values(operations).map((operation) => {
  const { answer, hostile = {} } = rows[operation.operationId]!;
  return {
    ...operation,
    answers: hostile.answers ?? [answer ? 200 : 204],
    asNobody: hostile.asNobody ?? false,
    sample: (victim) => {
      const { query = "", body } = hostile.sample?.(victim) ?? {};
      return { path: filled(operation.path) + query, ...(body && { body }) };
    },
  };
});

/** Returns the route of an operation. */
export const hostileRoute = (wanted: string): HostileRoute =>
  HOSTILE_ROUTES.find(({ operationId }) => operationId === wanted)!;
