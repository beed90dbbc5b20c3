/** A failure whose message says what to do; printed as one line, without a stack. */
export class Failure extends Error {
  override name = "Failure";
}

/** Prints a failure (with its stack only when it was unexpected) and sets the exit code. */
export function reportFailure(error: unknown): void {
  if (error instanceof Failure) console.error(`countersign: ${error.message}`);
  else console.error(error);
  process.exitCode = 1;
}
