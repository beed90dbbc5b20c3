import type { Reason } from "@countersign/errors";

/** Codes of every operation that only a broken part brings about, and how they are tested instead. */
export const WHEN_BROKEN: Partial<Record<Reason, string>> = {
  Unavailable: "gateway/src/routes/errors.test.ts has it answered by every route; tests/faults break the real parts",
  DeadlineExceeded: "as Unavailable",
  Internal: "an error of ours: gateway/src/routes/errors.test.ts, and packages/service-kit for unknown errors",
};

/** Documented codes that no test has the real stack answer, by operation, and why. */
export const UNANSWERED: Readonly<Record<string, Partial<Record<Reason, string>>>> = {};
