import { basename, dirname } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The files that take longest, roughly in that order. They start first, so that no worker idles. */
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
  // It has a stack of its own; the worker's stack would be idle meanwhile and stop.
  "e2e/scripts",
  "e2e/recovery",
  "e2e/names",
  "security/slow",
  "e2e/audit-kill",
  "e2e/token-state",
  "src/simulate-year.service",
  "src/cluster.service",
  "src/outbox.service",
  "src/consumer.service",
  "src/chain-setup.service",
  "src/partitions.service",
  "src/wasm-engine.service",
  "codec/fuzz.property",
  "src/rotation",
  "http/listen",
  "codec/decode-message.property",
  "vault/vault",
  "vault/start-vault",
];

const rank = ({ moduleId }: TestSpecification): number => {
  const at = LONGEST.indexOf(`${basename(dirname(moduleId))}/${basename(moduleId, ".test.ts")}`);
  return at < 0 ? LONGEST.length : at;
};

/** Sorts as Vitest does, with the longest files before all others of their project. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return sorted.sort((a, b) => projects.indexOf(a.project) - projects.indexOf(b.project) || rank(a) - rank(b));
  }
}
