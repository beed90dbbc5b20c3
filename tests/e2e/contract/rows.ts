import type { Reason } from "@countersign/core";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { commonCodes } from "./common-codes.ts";
import type { Answer } from "./exchange.ts";
import { operations, statusOf } from "./openapi.ts";
import { undocumented } from "./resources.ts";

/** A code that another test provokes; tests/answers checks that the gateway really answered it. */
export interface Elsewhere {
  file: string;
}

/** A code that no test provokes, and why. */
export interface Unprovoked {
  because: string;
}

export type Provoked = (() => Promise<Answer>) | Elsewhere | Unprovoked;

/** One operation of the contract. */
export interface Row {
  /** Calls it as it is meant. */
  success(): Promise<Answer>;
  /** Every member of the answer; absent where there is no body. */
  answer?: z.ZodType;
  /** The codes of its own; those of every operation are in common-codes.ts. */
  codes: Partial<Record<Reason, Provoked>>;
}

/** Rows by the operation's id. */
export type Rows = Readonly<Record<string, Row>>;

export const seenIn = (file: string): Elsewhere => ({ file });
export const unprovoked = (because: string): Unprovoked => ({ because });

/** Every code that has a test for an operation, or a reason for having none. */
export const codesOf = (operationId: string, row: Row): Record<string, Provoked> => ({
  ...commonCodes(operations[operationId]!),
  ...row.codes,
});

/** The tests of an area: each operation as it is meant, and each of its codes. */
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
