import { basename, dirname } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The files that take longest, roughly in that order: begun first, so that in the end no worker waits for the other's
 * long one. Beside the kill matrix, which leaves no core idle, stands one that mostly waits.
 */
const LONGEST = [
  "faults/kill-matrix",
  "faults/chain-watch",
  "faults/slow-parts",
  "faults/freeze",
  "faults/server-key-rotation",
  "faults/chain-keys",
  "faults/random-schedule",
  "faults/time-locks",
  "e2e/scripts",
  "e2e/recovery",
  "e2e/compose",
  "e2e/names",
  "security/slow",
  "e2e/audit-kill",
  "e2e/token-state",
  "vault/vault",
  "commands/keys",
  "codec/fuzz.property",
  "http/listen",
  "codec/decode-message.property",
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
