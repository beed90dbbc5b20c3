import type { Reporter, TestModule, Vitest } from "vitest/node";

/** Tests that may be skipped in CI: `<file> > <test>`, each with its reason. */
export const ALLOWED: Readonly<Record<string, string>> = {};

/** Returns the tests of these modules that did not run and are not in `ALLOWED`. */
export const skippedTests = (modules: readonly Pick<TestModule, "relativeModuleId" | "children">[]): string[] =>
  modules.flatMap(({ relativeModuleId, children }) =>
    [...children.allTests()]
      .filter((test) => test.result().state === "skipped")
      .map((test) => `${relativeModuleId} > ${test.fullName}`)
      .filter((name) => !Object.hasOwn(ALLOWED, name)),
  );

/** Vitest reporter for CI: a skipped test fails the run, unless the run selects tests by name. */
export default class NoSkippedTests implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (this.#vitest?.config.testNamePattern) return;
    const skipped = skippedTests(modules);
    if (skipped.length === 0) return;
    console.error(`\n${skipped.length} tests were skipped, which fails a run in CI:\n  ${skipped.join("\n  ")}`);
    process.exitCode = 1;
  }
}
