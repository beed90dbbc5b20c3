import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A transaction of a collection: attacks/*.cdc begin each with `//# <reason>[ harm <event>]: <what it does>`, ordinary/*.cdc with `//# [run: ]<what it does>[ <arguments>]`. */
export interface Sample {
  /** The file's name without its ending. */
  readonly file: string;
  readonly title: string;
  readonly script: string;
}

export interface Attack extends Sample {
  readonly reason: string;
  /** The event that shows the harm on the emulator when both keys sign it; undefined where the rule has to do. */
  readonly harm: string | undefined;
}

export interface Ordinary extends Sample {
  /** "Type value" each, where the emulator has all that the transaction needs; undefined where it has not. */
  readonly args: readonly string[] | undefined;
}

function read(collection: string): Sample[] {
  const directory = join(import.meta.dirname, collection);
  const files = readdirSync(directory).toSorted();
  return files.flatMap((name) =>
    readFileSync(join(directory, name), "utf8")
      .split(/^\/\/# /m)
      .slice(1)
      .map((text) => {
        const end = text.indexOf("\n");
        return { file: name.replace(".cdc", ""), title: text.slice(0, end), script: text.slice(end + 1) };
      }),
  );
}

/** Every attack, each to be refused for its reason. */
export const attacks = (): Attack[] =>
  read("attacks").map(({ title, ...sample }) => {
    const [, reason = "", harm, what = ""] = /^(\w+)(?: harm ([\w.]+))?: (.*)$/.exec(title) ?? [];
    return { ...sample, title: what, reason, harm };
  });

/** Every ordinary transaction, in the order in which the emulator runs them. */
export const ordinary = (): Ordinary[] =>
  read("ordinary").map(({ title, ...sample }) => {
    const [, what, args] = /^run: (.*?) (\[.*\])$/.exec(title) ?? [];
    return { ...sample, title: what ?? title, args: args === undefined ? undefined : JSON.parse(args) };
  });

/** The contracts that samples import from the emulator's service account: name and text. */
export const contracts = (): { name: string; code: string }[] =>
  readFileSync(join(import.meta.dirname, "contracts.cdc"), "utf8")
    .split(/^\/\/# /m)
    .slice(1)
    .map((text) => ({ name: text.slice(0, text.indexOf("\n")), code: text.slice(text.indexOf("\n") + 1) }));
