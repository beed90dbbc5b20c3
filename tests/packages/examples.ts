import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** An export of a published package, or a member of one; `documented.mjs` lists them. */
export interface Member {
  /** Such as `@countersign/keys/node`. */
  readonly specifier: string;
  /** Such as `CountersignClient.signIn`. */
  readonly path: string;
  /** `called`: a method, an accessor, or a property with a function. */
  readonly kind: "value" | "type" | "called" | "field";
  readonly doc: string;
  readonly examples: readonly string[];
}

/** Returns all that the packages, installed in an app's folder, export. */
export function membersOf(app: string, packages: readonly string[]): Member[] {
  const program = [join(import.meta.dirname, "documented.mjs"), app, ...packages];
  return JSON.parse(execFileSync(process.execPath, program, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 }));
}

/** Returns the TypeScript blocks of the packages' READMEs, as examples. */
export const readmesOf = (app: string, packages: readonly string[]): Member[] =>
  packages.map((name) => {
    const specifier = `@countersign/${name}`;
    const readme = readFileSync(join(app, "node_modules", specifier, "README.md"), "utf8");
    const examples = [...readme.matchAll(/^```tsx?\n(.*?)^```$/gms)].map(([, block]) =>
      block!.replaceAll(/^export /gm, ""),
    );
    return { specifier, path: "README", kind: "value", doc: readme, examples };
  });

/**
 * Returns the exports and members without a docstring, and those without an example that need one: values,
 * and what an app calls. A type's own example will do for its methods. An app does not call the functions of
 * options, it gives them.
 */
export function missingOf(members: readonly Member[]): string[] {
  const withExample = new Set(members.filter(({ examples }) => examples.length > 0).map(nameOf));
  const needsExample = ({ kind, specifier, path }: Member) => {
    const [type] = path.split(".");
    if (kind === "called") return !/Options$/.test(type!) && !withExample.has(`${specifier} ${type}`);
    return kind === "value";
  };
  return members.flatMap((member) => {
    if (member.doc === "") return [`${nameOf(member)}: no docstring`];
    return needsExample(member) && member.examples.length === 0 ? [`${nameOf(member)}: no @example`] : [];
  });
}

const nameOf = ({ specifier, path }: Pick<Member, "specifier" | "path">) => `${specifier} ${path}`;

/** An example as a program. */
export interface Program {
  /** Such as `@countersign/keys parsePublicKey`. */
  readonly name: string;
  readonly text: string;
  /** Whether it names nothing that is only declared: a service, a chain or a browser. */
  readonly runs: boolean;
  /** Whether it is the body of a React component: hooks run nowhere else. */
  readonly isComponent: boolean;
}

/** An example with one of these words needs a browser. */
const BROWSER =
  /\b(localStorage|location|navigator|alert|confirm|browser\w+|\w+BrowserPasskey|indexedDb\w+|passkeyStore)\b/;

/**
 * Returns each example as a module that imports the packages' exports and the values of `app` that it names:
 * `given` has values, `declared` only types, also those of other packages that it imports. A line
 * `expression; // => value` becomes a comparison.
 */
export function programsOf(
  members: readonly Member[],
  { given, declared }: { given: readonly string[]; declared: readonly string[] },
): Program[] {
  const exported = members.filter(({ path }) => !path.includes("."));
  // The examples of fields are values.
  const withPrograms = members.filter(({ kind }) => kind !== "field");
  return withPrograms.flatMap((member) =>
    member.examples.map((example) => {
      const lines = example.split("\n");
      const explicit = lines.filter((line) => /^import .* from "@countersign\//.test(line));
      const body = lines.filter((line) => !line.startsWith("import ")).join("\n");
      const words = new Set(body.replaceAll(/\/\/ .*$/gm, "").match(/[A-Za-z_]\w*/g));
      const imports = [...words].flatMap((word) => {
        if (explicit.some((line) => new RegExp(`\\b${word}\\b.* from `).test(line))) return [];
        // A README's block is copied as it is, so it has its own imports.
        const homes = exported.filter(({ path }) => path === word && member.path !== "README");
        const home = homes.find(({ specifier }) => specifier === member.specifier) ?? homes[0];
        if (given.includes(word)) return [`import { ${word} } from "../given.ts";`];
        if (declared.includes(word)) return [`import { ${word} } from "../declared.ts";`];
        return home ? [`import { ${home.kind === "type" ? "type " : ""}${word} } from "${home.specifier}";`] : [];
      });
      const compared = body.replaceAll(/^(.+); \/\/ => (.+)$/gm, "isEqual($1, $2);");
      const all = [...imports, ...explicit, 'import { deepEqual as isEqual } from "node:assert/strict";'];
      // In a block, where an example's own names may be those of imports.
      const isComponent = member.specifier === "@countersign/react";
      const text = `${all.join("\n")}\n${isComponent ? "export function Example() " : ""}{\n${compared}\n}\n`;
      const runs = !isComponent && !BROWSER.test(body) && ![...words].some((word) => declared.includes(word));
      return { name: nameOf(member), text, runs, isComponent };
    }),
  );
}
