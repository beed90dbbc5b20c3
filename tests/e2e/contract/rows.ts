import type { Reason } from "@countersign/core";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import type { Victim } from "../../security/attacker.ts";
import { commonCodes, type Elsewhere, type Provoked, type Unprovoked } from "./common-codes.ts";
import type { Answer } from "./exchange.ts";
import { operations, statusOf } from "./openapi.ts";
import { undocumented } from "./resources.ts";

/** How tests/security calls an operation. */
export interface Hostile {
  /**
   * Makes a request that is valid in every field and has no relevant effect, however often it is sent.
   * Default: one without a body, for a name that nobody has.
   */
  sample?(victim: Victim): { query?: string; body?: Record<string, unknown> };
  /** The answer to the sample: the status of success, or the error of the last rule. Default: success. */
  answers?: (200 | 204 | string)[];
  /** Sends the sample with the token of an account that does not exist, since it would affect a real one. */
  asNobody?: boolean;
}

/** One operation: everything that the tests on the real stack need to know of it. */
export interface Row {
  /** Calls it as it is meant. */
  success(): Promise<Answer>;
  /** Every member of the answer; absent where there is no body. */
  answer?: z.ZodType;
  /** The codes of its own; those of every operation are in common-codes.ts. */
  codes: Partial<Record<Reason, Provoked>>;
  hostile?: Hostile;
  /** The page that describes an operation of ours that the contract does not have. */
  besides?: string;
}

/** Rows by the operation's id. */
export type Rows = Readonly<Record<string, Row>>;

export const seenIn = (file: string): Elsewhere => ({ file });
export const unprovoked = (because: string): Unprovoked => ({ because });
/** Of operations that ask the chain; tests/e2e/names.test.ts refuses its node on a stack of its own. */
export const CHAIN_AWAY = unprovoked("the shared stack's chain node is never away; names.test.ts has one that is");

export const WITHIN_LIMIT = unprovoked("the shared stack has limits of thousands a minute; a unit test meets this one");

/** Returns every code that has a test for an operation, or a reason for having none. */
export const codesOf = (operationId: string, row: Row): Record<string, Provoked> => ({
  ...commonCodes(operations[operationId]!),
  ...row.codes,
});

/** Defines the tests of an area: each operation as it is meant, and each of its codes. */
export function testRows(rows: Rows): void {
  describe.each(Object.entries(rows))("%s", (operationId, row) => {
    it("answers what is documented, all of it", async () => {
      const answer = await row.success();
      expect(answer.status, answer.text).toBe(row.answer ? 200 : 204);
      if (row.answer) expect(undocumented(row.answer, answer.body), answer.text).toEqual([]);
      else expect(answer.text).toBe("");
    });

    for (const [name, provoked] of Object.entries(codesOf(operationId, row))) {
      const code = name as Reason;
      if (typeof provoked === "function") {
        it(code, async () => {
          const answer = await provoked();
          const { status, text, body } = answer;
          expect({ status, error: body?.error }, text).toEqual({ status: statusOf(code), error: code });
        });
      }
    }
  });
}
