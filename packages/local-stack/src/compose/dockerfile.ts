import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { filesBelow, root } from "@countersign/build/paths.ts";

export interface Instruction {
  /** Upper case. */
  name: string;
  /** The rest of the instruction, continuation lines joined. */
  text: string;
}

export interface Stage {
  name: string;
  /** An image, or an earlier stage. */
  from: string;
  instructions: Instruction[];
}

export interface Dockerfile {
  /** Of `ARG` before the first stage. */
  args: Record<string, string>;
  stages: Stage[];
}

/** A `COPY` taken apart. */
export interface Copy {
  /** A stage; absent: the build context. */
  from: string | undefined;
  sources: string[];
  target: string;
}

export function parseDockerfile(text: string): Dockerfile {
  const lines = text.replaceAll(/^\s*#.*\n/gm, "").replaceAll(/\\\n\s*/g, "");
  const file: Dockerfile = { args: {}, stages: [] };
  for (const line of lines.split("\n").filter((each) => each.trim())) {
    const [, name = "", rest = ""] = /^\s*(\w+)\s+(.*)$/.exec(line) ?? [];
    const instruction = { name: name.toUpperCase(), text: rest.trim() };
    const stage = file.stages.at(-1);
    if (instruction.name === "FROM") {
      const [from = "", , as = ""] = instruction.text.split(/\s+/);
      const image = from.replaceAll(/\$\{(\w+)\}/g, (_, arg: string) => file.args[arg] ?? `\${${arg}}`);
      file.stages.push({ name: as, from: image, instructions: [] });
    } else if (stage) stage.instructions.push(instruction);
    else {
      const [key = "", value = ""] = instruction.text.split("=");
      file.args[key] = value;
    }
  }
  return file;
}

export const readDockerfile = (): Dockerfile => parseDockerfile(readFileSync(join(root, "deploy/Dockerfile"), "utf8"));

export function copyOf(text: string): Copy {
  const words = text.split(/\s+/);
  const flags = words.filter((word) => word.startsWith("--"));
  const paths = words.filter((word) => !word.startsWith("--"));
  const from = flags.find((flag) => flag.startsWith("--from="))?.slice("--from=".length);
  return { from, sources: paths.slice(0, -1), target: paths.at(-1) ?? "" };
}

const ignoreRules = (): string => readFileSync(join(root, ".dockerignore"), "utf8");

/**
 * Returns whether .dockerignore keeps a path (relative to the root) from the builder. The last matching rule
 * decides.
 */
export function ignored(path: string, rules = ignoreRules()): boolean {
  let out = false;
  for (const line of rules.split("\n")) {
    const rule = line.trim();
    if (!rule || rule.startsWith("#")) continue;
    const pattern = rule
      .replace(/^!/, "")
      .split("/")
      .map((part) =>
        part === "**"
          ? "**"
          : part
              .replaceAll(/[.+^${}()|[\]\\]/g, "\\$&")
              .replaceAll("*", "[^/]*")
              .replaceAll("?", "[^/]"),
      )
      .join("/")
      .replaceAll("**/", "(?:.*/)?");
    if (new RegExp(`^${pattern}(?:/.*)?$`).test(path)) out = !rule.startsWith("!");
  }
  return out;
}

/** Returns the files of the context that a COPY source brings, relative to the root. */
export function contextFiles(source: string): string[] {
  const rules = ignoreRules();
  const path = join(root, source);
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) return [];
  const files = found.isDirectory() ? filesBelow(path, (each) => statSync(join(path, each)).isFile()) : undefined;
  return (files?.map((each) => join(source, each)) ?? [source]).filter((each) => !ignored(each, rules));
}
