/** Why an assertion is rejected. */
export type PasskeyProblem =
  | "malformed"
  | "type"
  | "challenge"
  | "cross-origin"
  | "relying-party"
  | "user-presence"
  | "user-verification"
  | "signature";

/** Thrown for a refused assertion; the message says what is wrong, for the client that sent it. */
export class PasskeyError extends Error {
  override readonly name = "PasskeyError";
  readonly problem: PasskeyProblem;

  constructor(problem: PasskeyProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}
