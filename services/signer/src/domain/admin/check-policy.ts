import { type Policy, PolicyError, type PolicySource, parsePolicy } from "../../policy/policy.ts";

/** A text that may be a policy, compared with the policy in effect. */
export interface CheckedPolicy {
  /** Why the text is no policy; empty where it is one, or none was given. */
  readonly problem: string;
  readonly currentVersion: string;
  readonly version: string;
  /** "path: value" of the policy in effect. */
  readonly current: readonly string[];
  readonly changes: readonly string[];
}

type Settings = ReadonlyMap<string, string>;

/** Returns each setting of a policy by its path. */
function settingsOf(value: unknown, path: string, into: Map<string, string> = new Map()): Settings {
  if (value instanceof Set) into.set(path, [...value].sort().join(" ") || "none");
  else if (Array.isArray(value)) value.forEach((each, i) => void settingsOf(each, `${path}.${i}`, into));
  else if (typeof value === "object" && value !== null) {
    for (const [name, each] of value instanceof Map ? value : Object.entries(value))
      settingsOf(each, path === "" ? name : `${path}.${name}`, into);
  } else if (typeof value !== "function" && value !== undefined) into.set(path, String(value));
  return into;
}

const shown = (settings: Settings): string[] => [...settings].map(([path, value]) => `${path}: ${value}`);

function changesOf(before: Settings, after: Settings): string[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths.flatMap((path) => {
    const [old, next] = [before.get(path) ?? "absent", after.get(path) ?? "absent"];
    return old === next ? [] : [`${path}: ${next} instead of ${old}`];
  });
}

/** Checks whether a text is a policy, and what it would change. Changes nothing. */
export const checkPolicy =
  ({ policies }: { readonly policies: PolicySource }) =>
  (text: string): CheckedPolicy => {
    const before = settingsOf(policies.current(), "");
    const answer = { problem: "", currentVersion: policies.current().version, version: "", current: shown(before) };
    if (text === "") return { ...answer, changes: [] };
    try {
      const policy: Policy = parsePolicy(JSON.parse(text));
      return { ...answer, version: policy.version, changes: changesOf(before, settingsOf(policy, "")) };
    } catch (error) {
      if (!(error instanceof PolicyError || error instanceof SyntaxError)) throw error;
      return { ...answer, problem: error.message, changes: [] };
    }
  };
