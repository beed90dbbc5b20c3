import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { trackedFiles } from "./check-words.ts";

const SOURCE = /^(gateway|services\/[^/]+|packages\/[^/]+)\/src\/.*(?<!\.test)\.ts$/;

/** Returns the metrics that a source file creates, by `name: "…"` or by a helper that takes the name. */
export const createdMetrics = (source: string): string[] =>
  [...source.matchAll(/(?:name: |calls\(|streams\()"(countersign_\w+)"/g)].map(([, name]) => name!);

/** Returns the metrics that docs/metrics.md has a row for. */
export const documentedMetrics = (page: string): string[] =>
  [...page.matchAll(/^\| `(countersign_\w+)` \|/gm)].map(([, name]) => name!);

/** One rule of Prometheus, an alert or a recorded expression; or a query of a dashboard's panel. */
export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly panel?: string;
  readonly expr: string;
  readonly annotations?: { readonly runbook_url?: string };
}

/** Returns the queries of a dashboard, as rules. */
export function dashboardQueries(file: string, dashboard: string): Rule[] {
  const { panels } = JSON.parse(dashboard) as { panels: { title: string; targets?: { expr: string }[] }[] };
  return panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ panel: `${file}, ${title}`, expr })));
}

/** Returns what is wrong with rules: metrics that nobody has, and alerts without a runbook. */
export function checkRules(rules: readonly Rule[], metrics: readonly string[], runbooks: readonly string[]): string[] {
  const recorded = rules.map(({ record }) => record);
  const unknown = rules.flatMap(({ alert, record, panel, expr }) => {
    const names = [...new Set(expr.match(/\bcountersign[_:][\w:]+/g))];
    const known = (name: string) =>
      recorded.includes(name) || metrics.includes(name) || metrics.includes(name.replace(/_(bucket|sum|count)$/, ""));
    return names
      .filter((name) => !known(name))
      .map((name) => `${alert ?? record ?? panel}: no metric is called ${name}`);
  });
  const alerts = rules.filter(({ alert }) => alert !== undefined);
  const pageOf = ({ alert }: Rule) =>
    `docs/runbooks/${alert!
      .replace("Countersign", "")
      .replace(/(?<!^)([A-Z])/g, "-$1")
      .toLowerCase()}.md`;
  const pages = alerts.map(pageOf);
  return [
    ...unknown,
    ...alerts
      .filter((rule) => rule.annotations?.runbook_url !== pageOf(rule))
      .map((rule) => `${rule.alert}: its runbook_url must be ${pageOf(rule)}`),
    ...pages.filter((page) => !runbooks.includes(page)).map((page) => `${page} is missing`),
    ...runbooks.filter((page) => !pages.includes(page)).map((page) => `${page}: no alert is called so`),
  ];
}

/**
 * Returns each metric that the code creates and docs/metrics.md does not have, and the other way round, and
 * what is wrong with the queries of alerts and dashboards.
 */
export function checkMetrics(root: string): string[] {
  const read = (path: string) => readFileSync(join(root, path), "utf8");
  const sources = trackedFiles(root).filter((path) => SOURCE.test(path));
  const created = new Set(sources.flatMap((path) => createdMetrics(read(path))));
  const documented = documentedMetrics(read("docs/metrics.md"));
  const { groups } = parse(read("deploy/monitoring/alerts.yaml")) as { groups: { rules: Rule[] }[] };
  const dashboards = trackedFiles(root).filter((path) => path.startsWith("deploy/monitoring/dashboards/"));
  const panels = dashboards.flatMap((path) => dashboardQueries(path, read(path)));
  const rules = [...groups.flatMap((group) => group.rules), ...panels];
  const runbooks = trackedFiles(root).filter((path) => /^docs\/runbooks\/(?!README)/.test(path));
  return [
    ...checkRules(rules, documented, runbooks),
    ...[...created].filter((name) => !documented.includes(name)).map((name) => `${name} is not in docs/metrics.md`),
    ...documented.filter((name) => !created.has(name)).map((name) => `docs/metrics.md: nothing creates ${name}`),
  ];
}
