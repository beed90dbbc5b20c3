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

/**
 * Thrown for a refused assertion; the message says what is wrong, for the client that sent it.
 * @example
 * try {
 *   verifyAssertion(publicKey, assertion, { login: challenge }, relyingParties);
 * } catch (error) {
 *   if (error instanceof PasskeyError) console.log(error.problem, error.message);
 * }
 */
export class PasskeyError extends Error {
  override readonly name = "PasskeyError";
  /** Why the assertion was refused, for a program. */
  readonly problem: PasskeyProblem;

  constructor(problem: PasskeyProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

/** Throws that the bytes do not have their format. */
export function refuse(what: string): never {
  throw new PasskeyError("malformed", what);
}
