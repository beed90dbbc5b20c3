import type { Row } from "./cases/case.ts";

/** A row with its share of the floor and whether it reached its goals. */
export interface ReportedRow extends Row {
  ratio?: number;
  reached?: boolean;
}

/** Compares each row with its floor and its goals. */
export function judge(rows: readonly Row[]): ReportedRow[] {
  return rows.map((row) => {
    const floor = rows.find(({ name }) => name === row.floor);
    const ratio = floor === undefined ? undefined : row.measured.perSecond / floor.measured.perSecond;
    const checks = [
      row.goal === undefined ? undefined : (ratio ?? 0) >= row.goal,
      row.goalPerSecond === undefined ? undefined : row.measured.perSecond >= row.goalPerSecond,
      row.goalP99 === undefined ? undefined : row.measured.p99 <= row.goalP99,
    ].filter((check) => check !== undefined);
    return {
      ...row,
      ...(ratio === undefined ? {} : { ratio }),
      ...(checks.length === 0
        ? {}
        : { reached: checks.every(Boolean) && [row, floor].every((of) => !of?.measured.errors) }),
    };
  });
}

const number = (value: number, digits = 0): string => (Number.isFinite(value) ? value.toFixed(digits) : "-");

function goalOf({ goal, goalPerSecond, goalP99 }: Row): string {
  const parts = [
    goal === undefined ? "" : `≥ ${goal} of floor`,
    goalPerSecond === undefined ? "" : `≥ ${goalPerSecond}/s`,
    goalP99 === undefined ? "" : `p99 ≤ ${goalP99} ms`,
  ];
  return parts.filter(Boolean).join(", ");
}

function table(header: string[], lines: string[][]): string {
  const all = [header, ...lines];
  const widths = header.map((_, column) => Math.max(...all.map((line) => line[column]!.length)));
  const row = (line: string[]) =>
    line.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join("  ");
  return [row(header), widths.map((width) => "-".repeat(width)).join("  "), ...lines.map(row)].join("\n");
}

/** Returns the table of rates, latencies and goals. */
export function resultTable(rows: readonly ReportedRow[]): string {
  const floors = new Set(rows.map(({ floor }) => floor));
  return table(
    ["", "/s", "p50 ms", "p99 ms", "errors", "of floor", "goal", ""],
    rows.map((row) => [
      floors.has(row.name) ? `${row.name} (floor)` : row.name,
      number(row.measured.perSecond),
      number(row.measured.p50, 1),
      number(row.measured.p99, 1),
      String(row.measured.errors),
      row.ratio === undefined ? "" : number(row.ratio, 2),
      goalOf(row),
      row.reached === undefined ? "" : row.reached ? "yes" : "NO",
    ]),
  );
}

/** Returns the table of processor time per operation of each process, in microseconds. */
export function cpuTable(rows: readonly ReportedRow[]): string {
  const measured = rows.filter(({ cpu }) => cpu !== undefined);
  const names = [...new Set(measured.flatMap(({ cpu }) => Object.keys(cpu!)))];
  return table(
    ["processor µs per operation", ...names],
    measured.map(({ name, cpu }) => [name, ...names.map((process) => String(cpu![process] ?? ""))]),
  );
}

/** Returns the table of resident memory in MiB. */
export function memoryTable(memory: readonly { name: string; idle: number; loaded: number; goal?: number }[]): string {
  return table(
    ["resident MiB", "idle", "loaded", "goal", ""],
    memory.map(({ name, idle, loaded, goal }) => [
      name,
      number(idle),
      number(loaded),
      goal === undefined ? "" : `≤ ${goal}`,
      goal === undefined ? "" : loaded <= goal ? "yes" : "NO",
    ]),
  );
}
