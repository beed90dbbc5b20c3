import { Failure } from "@countersign/build/fail.ts";
import { cruise, type ICruiseResult } from "dependency-cruiser";
import { forbidden } from "./import-rules.ts";

export interface RefusedImport {
  /** The rule's name. */
  readonly rule: string;
  readonly from: string;
  readonly to: string;
  /** The reason of the rule. */
  readonly why: string;
}

const SOURCES = ["packages", "services", "gateway", "dev", "tests", "bench", "examples", "apps"];

/** Returns the imports below a directory that `import-rules.ts` forbids. */
export async function checkImports(directory: string): Promise<RefusedImport[]> {
  const { output } = await cruise(SOURCES, {
    baseDir: directory,
    ruleSet: { forbidden },
    validate: true,
    // The TypeScript of this repository has no JavaScript API.
    parser: "swc",
    tsPreCompilationDeps: true,
    // Paths stay below node_modules, where each import is compared with the nearest package.json.
    preserveSymlinks: true,
    doNotFollow: { path: ["node_modules/", "/generated/"] },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default", "types"] },
  });
  const { violations, totalDependenciesCruised } = (output as ICruiseResult).summary;
  if (!totalDependenciesCruised) throw new Failure("dependency-cruiser found no imports: is @swc/core installed?");
  const why = (rule: string) => forbidden.find(({ name }) => name === rule)?.comment ?? "";
  return violations.map(({ rule: { name: rule }, from, to }) => ({ rule, from, to, why: why(rule) }));
}
