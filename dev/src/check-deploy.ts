import { ensurePython } from "@countersign/local-stack/python.ts";
import { hasPython } from "@countersign/local-stack/test-programs.ts";
import { ensureHelm, ensurePromtool } from "@countersign/local-stack/tools.ts";
import { writeChartReadme } from "./kubernetes/chart-readme.ts";
import { runVitest } from "./test.ts";

/**
 * `npm run check:deploy`: prepares helm, promtool and the schemas of Kubernetes, then runs tests/deploy.
 * With `write` it writes the chart's README first.
 */
export async function checkDeploy(write: boolean): Promise<number> {
  if (write) writeChartReadme();
  process.env.CS_HELM = await ensureHelm((line) => console.log(line));
  process.env.CS_PROMTOOL = await ensurePromtool((line) => console.log(line));
  if (hasPython()) process.env.CS_KUBERNETES_SCHEMAS = await ensurePython("dev/kubernetes/requirements.txt");
  return runVitest(["--project", "deploy"]);
}
