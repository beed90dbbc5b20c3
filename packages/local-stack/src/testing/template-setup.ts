import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { makeTemplate, removeState } from "./stack-template.ts";
import "./provided.ts";

/** Vitest's global set-up of the projects whose stacks begin with a template: one for all of a run. */
export default async function setup(project: TestProject): Promise<undefined | (() => void)> {
  if (project.getProvidedContext().stackTemplate) return;
  const template = mkdtempSync(join(tmpdir(), "countersign-template-"));
  try {
    await makeTemplate(template, (line) => console.log(`template: ${line}`));
  } catch (error) {
    removeState(template);
    throw error;
  }
  project.vitest.provide("stackTemplate", template);
  return () => removeState(template);
}
