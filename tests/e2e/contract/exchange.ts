import { randomUUID } from "node:crypto";
import type { Reason } from "@countersign/core";
import { expect } from "vitest";
import { newPhone } from "../../support/person.ts";
import { expectProblem, type RawAnswer, send } from "../../support/raw-request.ts";
import { operations, statusOf, undescribed } from "./openapi.ts";
import { problem, undocumented } from "./resources.ts";

export type Answer = RawAnswer;

/** What of a request differs from one without anything. */
export interface Call {
  token?: string | undefined;
  /** For `{id}` or `{publicKey}`; default: one that nobody has. */
  name?: string;
  /** With its question mark. */
  query?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Calls an operation by the name that the served document has for it, and checks what every answer owes. */
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

/** Answers that say when to come again. */
const COME_AGAIN: readonly string[] = ["TwoFactorAuthPending", "TransactionPending", "RateLimited", "TimeLockRequired"];

/** That a problem is all that the contract says of problems in general, and of its code. */
function expectWholeProblem(answer: Answer): void {
  const { body, headers } = answer;
  expect(undocumented(problem, body), answer.text).toEqual([]);
  expectProblem(answer, statusOf(body.error as Reason), body.error);
  if (COME_AGAIN.includes(body.error)) expect(headers["retry-after"], answer.text).toMatch(/^[1-9]\d*$/);
  if (body.error === "InsufficientScope") expect(headers["www-authenticate"]).toMatch(/error="insufficient_scope"/);
  expect("reason" in body, answer.text).toBe(body.error === "SigningRefused");
  expect("availableAt" in body, answer.text).toBe(body.error === "TimeLockRequired");
}
