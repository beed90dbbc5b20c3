import { basename, dirname } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, in that order: begun first, so that in the end no worker waits for the other's long one. */
const LONGEST = [
  "faults/kill-matrix",
  "faults/slow-parts",
  "faults/chain-keys",
  "faults/chain-watch",
  "faults/random-schedule",
  "faults/time-locks",
  "faults/freeze",
  "e2e/scripts",
  "e2e/recovery",
  "e2e/compose",
  "security/slow",
];

const rank = ({ moduleId }: TestSpecification): number => {
  const at = LONGEST.indexOf(`${basename(dirname(moduleId))}/${basename(moduleId, ".test.ts")}`);
  return at < 0 ? LONGEST.length : at;
};

/** Vitest's order, with the longest files before all others of their project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return sorted.sort((a, b) => projects.indexOf(a.project) - projects.indexOf(b.project) || rank(a) - rank(b));
  }
}
