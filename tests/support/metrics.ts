import { get as httpGet } from "node:http";

/** One series: its name, with the suffix of a histogram's parts, its labels and its value. */
export interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Family {
  readonly type: string;
  readonly help: string;
  readonly series: readonly Series[];
}

/** Reads a URL. `fetch` would refuse some of the ports. */
const read = (url: string): Promise<string> =>
  new Promise((resolve, reject) => {
    httpGet(url, { agent: false }, async (response) => resolve((await response.toArray()).join(""))).on(
      "error",
      reject,
    );
  });

/** Reads the metrics of a process in Prometheus' text format, by name. */
export async function readMetrics(url: string): Promise<ReadonlyMap<string, Family>> {
  const families = new Map<string, { type: string; help: string; series: Series[] }>();
  let last = { type: "", help: "", series: [] as Series[] };
  for (const line of (await read(url)).split("\n").filter(Boolean)) {
    const [, keyword, family, text] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      last = { type: "", help: text!, series: [] };
      families.set(family!, last);
    } else if (keyword === "TYPE") last.type = text!;
    else {
      const [, name, labels = "", value] = /^([a-z_A-Z0-9]+)(?:\{(.*)\})? (\S+)$/.exec(line)!;
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, each]) => [label!, each!]);
      last.series.push({
        name: name!,
        labels: Object.fromEntries(pairs),
        value: Number(value!.replace("Inf", "Infinity")),
      });
    }
  }
  return families;
}
