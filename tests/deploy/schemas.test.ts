import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { EVERYTHING, objectsOf, render, TRIAL, TRIAL_VALUES } from "./render.ts";

const VERSIONS = ["1.32", "1.33", "1.34"];
/** Objects of others, whose schemas are not Kubernetes' own. */
const OTHERS = /^(cert-manager\.io|gateway\.networking\.k8s\.io|monitoring\.coreos\.com)\//;

const python = process.env.CS_KUBERNETES_SCHEMAS;
const directory = mkdtempSync(join(tmpdir(), "countersign-schemas-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Returns what kubernetes-validate finds in these objects; unknown fields are errors. */
function problems(objects: readonly object[], version: string): string {
  const file = join(directory, "objects.yaml");
  writeFileSync(file, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
  try {
    execFileSync(python!, ["-m", "kubernetes_validate", "--strict", "--kubernetes-version", version, file], {
      encoding: "utf8",
      stdio: "pipe",
    });
    return "";
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return `${stdout}${stderr}`;
  }
}

describe.skipIf(!python).each(VERSIONS)("Kubernetes %s", (version) => {
  it.each([
    ["the defaults", () => render()],
    ["everything", () => render(EVERYTHING)],
    ["a trial", () => [...objectsOf(readFileSync(TRIAL, "utf8")), ...render({}, [TRIAL_VALUES])]],
  ])("knows every field of %s", (_name, rendered) => {
    const objects = rendered().filter(({ apiVersion }) => !OTHERS.test(apiVersion));
    expect(objects.length).toBeGreaterThan(30);
    expect(problems(objects, version)).toBe("");
  });

  it("knows no other field", () => {
    const [object] = render().filter(({ kind }) => kind === "Deployment");
    object!.spec.template.spec.containers[0].livenessProb = {};
    expect(problems([object!], version)).toContain("livenessProb");
  });
});
