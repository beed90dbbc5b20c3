import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root } from "@countersign/build/paths.ts";

/** One file per stack of the last run: the path of its state, or once that is removed, its gateways' log. */
const directory = join(root, ".local/gateway-logs");
const pathFile = (stateDir: string) => join(directory, `${basename(stateDir)}.path`);

const logOf = (stateDir: string): string => {
  const logs = join(stateDir, "log");
  if (!existsSync(logs)) return "";
  const files = readdirSync(logs).filter((name) => /^gateway(-\d+)?\.log$/.test(name));
  return files.map((name) => readFileSync(join(logs, name), "utf8")).join("\n");
};

/** Forgets the stacks of an earlier run. */
export function resetGatewayLogs(): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
}

export const noteStack = (stateDir: string): void => writeFileSync(pathFile(stateDir), stateDir);

/** Keeps the log of a stack whose state is about to be removed. */
export function keepGatewayLogs(stateDir: string): void {
  writeFileSync(join(directory, `${basename(stateDir)}.log`), logOf(stateDir));
  rmSync(pathFile(stateDir), { force: true });
}

const EXCUSED = "excused.json";

/** Keeps which documented codes of each operation no test of this run makes a gateway answer. */
export const keepExcused = (codes: Record<string, string[]>): void =>
  writeFileSync(join(directory, EXCUSED), JSON.stringify(codes));

/** Returns what the last run of tests/e2e/contract/completeness.test.ts has kept. */
export const excusedCodes = (): Record<string, string[]> =>
  existsSync(join(directory, EXCUSED)) ? JSON.parse(readFileSync(join(directory, EXCUSED), "utf8")) : {};

/** A request that a gateway answered with a problem document. */
export interface AnsweredProblem {
  method: string;
  /** The path's pattern. */
  route: string;
  reason: string;
}

/** Returns every problem that gateways of the last run of the e2e project have answered. */
export function answeredProblems(): AnsweredProblem[] {
  if (!existsSync(directory)) return [];
  const logs = readdirSync(directory).filter((name) => name !== EXCUSED);
  const texts = logs.map((name) => {
    const content = readFileSync(join(directory, name), "utf8");
    return name.endsWith(".path") ? logOf(content) : content;
  });
  return texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => line.startsWith("{") && line.includes('"reason":"'))
    .map((line) => JSON.parse(line) as Partial<AnsweredProblem> & { msg?: string })
    .flatMap(({ method, route, reason }) => (method && route && reason ? [{ method, route, reason }] : []));
}
