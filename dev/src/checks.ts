/** Runs named checks one after another, prints each with its time, and counts them. */
export class Checks {
  passed = 0;
  failed = 0;

  /** Runs a check; `work` returns what its line shows besides the name. Returns whether it passed. */
  async run(name: string, work: () => Promise<string | undefined>): Promise<boolean> {
    const started = performance.now();
    const seconds = () => `${((performance.now() - started) / 1000).toFixed(1)} s`.padStart(8);
    try {
      const detail = await work();
      this.passed += 1;
      console.log(`ok      ${seconds()}  ${name}${detail ? `: ${detail}` : ""}`);
      return true;
    } catch (error) {
      this.failed += 1;
      console.log(`FAILED  ${seconds()}  ${name}\n${(error as Error).stack ?? error}`);
      return false;
    }
  }
}
