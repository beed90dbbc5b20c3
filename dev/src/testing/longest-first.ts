import { basename, dirname } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The files that take longest, roughly in that order: begun first, so that in the end no worker waits for another's
 * long one.
 */
const LONGEST = [
  "faults/kill-matrix",
  "faults/slow-parts",
  "faults/server-key-rotation",
  "faults/chain-keys",
  "faults/chain-watch",
  "faults/budgets",
  "faults/random-schedule",
  "faults/network",
  "faults/key-rotation",
  "faults/streams",
  "faults/freeze",
  "faults/time-locks",
  // A stack of its own: while it runs, the worker's would be idle and end.
  "e2e/compose",
  "e2e/scripts",
  "e2e/recovery",
  "e2e/names",
  "security/slow",
  "e2e/audit-kill",
  "e2e/token-state",
  "src/consumer.service",
  "src/outbox.service",
  "src/feed.service",
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
