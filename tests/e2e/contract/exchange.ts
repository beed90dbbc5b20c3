import { randomUUID } from "node:crypto";
import type { Reason } from "@countersign/core";
import { expect } from "vitest";
import { newPhone } from "../../support/person.ts";
import { expectProblem, type RawAnswer, send } from "../../support/raw-request.ts";
import { operations, statusOf, undescribed } from "./openapi.ts";
import { problem, undocumented } from "./resources.ts";

export type Answer = RawAnswer;

/** The parts of a request that are not empty. */
export interface Call {
  token?: string | undefined;
  /** The value of `{id}` or `{publicKey}`; default: one that does not exist. */
  name?: string;
  /** Including the question mark. */
  query?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls an operation by its id in the served document, and checks what holds for every answer. */
export async function exchange(operationId: string, call: Call = {}): Promise<Answer> {
  const operation = operations[operationId];
  if (!operation) throw new Error(`the document knows no operation ${operationId}`);
  const { method, path } = operation;
  const nobodys = path.includes("{publicKey}") ? newPhone().deviceKey.publicKey : randomUUID();
  const { token, body, headers = {} } = call;
  const filled = path.replace(/\{\w+\}/, () => call.name ?? nobodys) + (call.query ?? "");
  const answer = await send({ method, path: filled, token, body, headers });
  const what = `${operationId}: ${answer.status} ${answer.text}`;
  expect(
    undescribed(operation, { ...answer, contentType: String(answer.headers["content-type"] ?? "") }),
    what,
  ).toEqual([]);
  expect(answer.headers["x-request-id"], what).toMatch(/^[\w.-]{8,64}$/);
  if (answer.status >= 400) expectWholeProblem(answer);
  return answer;
}

/** Errors whose answer has a Retry-After header. */
const COME_AGAIN: readonly string[] = ["TwoFactorAuthPending", "TransactionPending", "RateLimited", "TimeLockRequired"];

/** Expects a problem document with every member that the contract requires, in general and for its code. */
function expectWholeProblem(answer: Answer): void {
  const { body, headers } = answer;
  expect(undocumented(problem, body), answer.text).toEqual([]);
  expectProblem(answer, statusOf(body.error as Reason), body.error);
  if (COME_AGAIN.includes(body.error)) expect(headers["retry-after"], answer.text).toMatch(/^[1-9]\d*$/);
  if (body.error === "InsufficientScope") expect(headers["www-authenticate"]).toMatch(/error="insufficient_scope"/);
  expect("reason" in body, answer.text).toBe(body.error === "SigningRefused");
  expect("availableAt" in body, answer.text).toBe(body.error === "TimeLockRequired");
}
