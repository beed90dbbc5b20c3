import { Failure } from "@countersign/build/fail.ts";

/** Runs named checks one after another, prints each with its time, and counts them. */
export class Checks {
  passed = 0;
  failed = 0;

  /** Runs a check; its line shows a text that `work` returns. Returns whether it passed. */
  async run(name: string, work: () => Promise<unknown>): Promise<boolean> {
    const started = performance.now();
    const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`.padStart(8);
    try {
      const detail = await work();
      this.passed += 1;
      console.log(`ok      ${seconds()}  ${name}${typeof detail === "string" ? `: ${detail}` : ""}`);
      return true;
    } catch (error) {
      this.failed += 1;
      console.log(
        `FAILED  ${seconds()}  ${name}\n${error instanceof Failure ? error.message : (error as Error).stack}`,
      );
      return false;
    }
  }
}
