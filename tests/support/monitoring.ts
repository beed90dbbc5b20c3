import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { parse } from "yaml";
import { z } from "zod";

const MONITORING = join(root, "deploy/monitoring");
const RUNBOOKS = join(root, "docs/runbooks");
export const ALERTS = join(MONITORING, "alerts.yaml");
export const ALERT_TESTS = join(MONITORING, "alerts.test.yaml");

/** A query with the place where it is. */
export interface Query {
  readonly place: string;
  readonly expr: string;
}

const gridPos = z.strictObject({ x: z.int().min(0), y: z.int().min(0), w: z.int().min(1), h: z.int().min(1) });
const datasource = z.strictObject({ type: z.literal("prometheus"), uid: z.literal("$" + "{datasource}") });
const step = z.strictObject({ color: z.enum(["red", "orange", "green"]), value: z.number().nullable() });
const defaults = z.strictObject({
  unit: z.enum(["none", "percentunit", "reqps", "ops", "s", "bytes"]),
  min: z.number().optional(),
  max: z.number().optional(),
  thresholds: z.strictObject({ mode: z.literal("absolute"), steps: z.array(step) }).optional(),
});
const target = z.strictObject({
  refId: z.string().length(1),
  expr: z.string().min(1),
  legendFormat: z.string().min(1),
  instant: z.literal(true).optional(),
});
const panel = z.strictObject({
  id: z.int(),
  type: z.enum(["timeseries", "stat"]),
  title: z.string().min(1),
  description: z.string().optional(),
  gridPos,
  datasource,
  fieldConfig: z.strictObject({ defaults, overrides: z.tuple([]) }),
  options: z.record(z.string(), z.unknown()),
  targets: z.array(target).min(1),
});
const row = z.strictObject({
  id: z.int(),
  type: z.literal("row"),
  title: z.string().min(1),
  collapsed: z.literal(false),
  panels: z.tuple([]),
  gridPos,
});

/** The part of Grafana's dashboards that ours use. */
const Dashboard = z.strictObject({
  uid: z.string().regex(/^countersign-[a-z]+$/),
  title: z.string().startsWith("Countersign"),
  description: z.string().min(1),
  tags: z.tuple([z.literal("countersign")]),
  schemaVersion: z.literal(39),
  editable: z.boolean(),
  time: z.strictObject({ from: z.string(), to: z.literal("now") }),
  refresh: z.string(),
  timezone: z.literal("browser"),
  graphTooltip: z.literal(1),
  links: z.array(z.looseObject({ type: z.literal("dashboards") })),
  templating: z.strictObject({ list: z.tuple([z.looseObject({ name: z.literal("datasource") })]) }),
  annotations: z.strictObject({ list: z.tuple([]) }),
  panels: z.array(z.discriminatedUnion("type", [row, panel])).min(1),
});
export type Dashboard = z.output<typeof Dashboard>;

/** Returns the dashboards by the names of their files. Errors: ZodError for what Grafana may not know. */
export function dashboards(): Map<string, Dashboard> {
  const files = readdirSync(join(MONITORING, "dashboards")).sort();
  const read = (file: string) => JSON.parse(readFileSync(join(MONITORING, "dashboards", file), "utf8"));
  return new Map(files.map((file) => [file, Dashboard.parse(read(file))]));
}

interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
}

/** Returns the rules of alerts.yaml. */
export const rules = (): Rule[] =>
  (parse(readFileSync(ALERTS, "utf8")) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);

/** Returns the queries of the runbooks, one a line. */
function runbookQueries(): Query[] {
  const files = readdirSync(RUNBOOKS).sort();
  const blocks = (file: string) => readFileSync(join(RUNBOOKS, file), "utf8").matchAll(/```promql\n([^`]*)```/g);
  const lines = (file: string) => [...blocks(file)].flatMap(([, block]) => block!.trim().split("\n"));
  return files.flatMap((file) => lines(file).map((expr) => ({ place: file, expr })));
}

/** Returns all queries of rules, runbooks and dashboards, whose variable becomes an interval. */
export const queries = (): Query[] => [
  ...rules().map(({ alert, record, expr }) => ({ place: alert ?? record!, expr })),
  ...runbookQueries(),
  ...[...dashboards()].flatMap(([file, { panels }]) =>
    panels.flatMap((each) =>
      each.type === "row"
        ? []
        : each.targets.map(({ refId, expr }) => ({
            place: `${file}, ${each.title} ${refId}`,
            expr: expr.replaceAll("$__rate_interval", "5m"),
          })),
    ),
  ),
];

/** A condition of PromQL on a label. */
export interface Matcher {
  readonly label: string;
  readonly operator: string;
  readonly value: string;
}

/** The series that a query reads: a metric, conditions, and labels that it groups by. */
export interface Selector {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  readonly groups: readonly string[];
}

/** Labels of recorded series and of Prometheus' targets. */
const FOREIGN_LABELS = ["slo", "pod"];

/** Returns what a query reads from the processes. */
export function selectorsOf(expr: string): Selector[] {
  const groups = [...expr.matchAll(/\b(?:by|on|ignoring) \(([^)]*)\)/g)].flatMap(([, labels]) => labels!.split(", "));
  return [...expr.matchAll(/\b((?:countersign|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, metric, inner = ""]) => ({
      metric: metric!,
      matchers: [...inner.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(([, label, operator, value]) => ({
        label: label!,
        operator: operator!,
        value: value!,
      })),
      groups: groups.filter((label) => !FOREIGN_LABELS.includes(label)),
    }),
  );
}
