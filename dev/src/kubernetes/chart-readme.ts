import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@countersign/build/paths.ts";
import { isMap, isScalar, type Pair, parseDocument, type Scalar, type YAMLMap } from "yaml";

const chart = join(root, "deploy/helm/countersign");
export const README = join(chart, "README.md");
const BEGIN = "<!-- The table is written by `npm run check:deploy -- --write`. -->";

/** Groups whose entries all look alike, or are a document of their own: one row each. */
const WHOLE = /^(processes\.\w+|networkPolicy\.destinations\.\w+|certificates\.certManager\.issuerRef)$/;

const inOneLine = (text: string) => text.replace(/\s+/g, " ").trim();
const cell = (text: string) => text.replaceAll("|", "\\|");

/** Returns the rows of a map: the comment above a value describes it, that above a map its first row. */
function rowsOf(map: YAMLMap, prefix: string): string[][] {
  return (map.items as Pair<Scalar<string>>[]).flatMap(({ key, value }, index) => {
    const name = `${prefix}${key.value}`;
    // The comment of the first entry belongs to the map's node.
    const comment = inOneLine((key.commentBefore ?? (index === 0 ? map.commentBefore : "") ?? "").replace(/^ /gm, ""));
    if (isMap(value) && value.items.length > 0 && !WHOLE.test(name)) {
      const rows = rowsOf(value, `${name}.`);
      return comment === "" ? rows : [[name, "", comment], ...rows];
    }
    const plain = isScalar(value) ? value.value : (value as YAMLMap).toJSON();
    return [[name, JSON.stringify(plain), comment]];
  });
}

/** Returns the chart's README with the table of the values as they are in values.yaml. */
export function chartReadme(): string {
  const [before] = readFileSync(README, "utf8").split(BEGIN);
  const document = parseDocument(readFileSync(join(chart, "values.yaml"), "utf8"));
  const resolved = document.toJS() as Record<string, unknown>;
  const at = (path: string) =>
    path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], resolved);
  const rows = rowsOf(document.contents as YAMLMap, "").map(([name = "", value, about = ""]) => {
    const shown = value === "" ? "" : `\`${cell(JSON.stringify(at(name)))}\``;
    return `| \`${name}\` | ${shown} | ${cell(about)} |`;
  });
  return [`${before}${BEGIN}`, "", "| value | default | meaning |", "| --- | --- | --- |", ...rows, ""].join("\n");
}

/** Writes the table. */
export function writeChartReadme(): void {
  writeFileSync(README, chartReadme());
}
