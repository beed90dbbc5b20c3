import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { makeTemplate, removeState } from "./stack-template.ts";
import "./provided.ts";

/** Vitest's global set-up of the `faults` project: what the stacks of its files begin with. */
export default async function setup(project: TestProject): Promise<() => void> {
  const template = mkdtempSync(join(tmpdir(), "countersign-template-"));
  try {
    await makeTemplate(template, (line) => console.log(`template: ${line}`));
  } catch (error) {
    removeState(template);
    throw error;
  }
  project.provide("stackTemplate", template);
  return () => removeState(template);
}
