import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A transaction of a collection: attacks/*.cdc begin each with `//# <reason>[ harm <event>]: <what it does>`,
 * ordinary/*.cdc with `//# <what it does> <arguments>`.
 */
export interface Sample {
  /** The file's name without its ending. */
  readonly file: string;
  readonly title: string;
  readonly script: string;
}

export interface Attack extends Sample {
  readonly reason: string;
  /**
   * The event that shows the harm on the emulator when both keys sign it; undefined where the rule has to do.
   */
  readonly harm: string | undefined;
}

export interface Ordinary extends Sample {
  /** "Type value" each. */
  readonly args: readonly string[];
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

/** Returns every attack, each to be refused for its reason. */
export const attacks = (): Attack[] =>
  read("attacks").map(({ title, ...sample }) => {
    const [, reason = "", harm, what = ""] = /^(\w+)(?: harm ([\w.]+))?: (.*)$/.exec(title) ?? [];
    return { ...sample, title: what, reason, harm };
  });

/** Returns every ordinary transaction, in the order in which the emulator runs them. */
export const ordinary = (): Ordinary[] =>
  read("ordinary").map(({ title, ...sample }) => {
    const [, what = "", args = ""] = /^(.*?) (\[.*\])$/.exec(title) ?? [];
    return { ...sample, title: what, args: JSON.parse(args) };
  });

export interface Contract {
  readonly name: string;
  readonly code: string;
}

const contractsIn = (file: string): Contract[] =>
  readFileSync(join(import.meta.dirname, file), "utf8")
    .split(/^\/\/# /m)
    .slice(1)
    .map((text) => ({ name: text.slice(0, text.indexOf("\n")), code: text.slice(text.indexOf("\n") + 1) }));

/** Returns the contracts that samples import from the emulator's service account. */
export const contracts = (): Contract[] => contractsIn("contracts.cdc");

/**
 * Returns the contracts that samples import from accounts of the real networks, to be deployed at one account
 * (16 hex digits) in this order.
 */
export const fakeContracts = (address: string): Contract[] =>
  contractsIn("fake-contracts.cdc").map(({ name, code }) => ({
    name,
    code: code.replaceAll("FAKE_CONTRACTS", `0x${address}`),
  }));

/** The emulator's own contracts, by where mainnet has them and by where they are. */
const OWN: Readonly<Record<string, string>> = {
  "0xf233dcee88fe0abe": "0xee82856bf20e2aa6",
  "0xee82856bf20e2aa6": "0xee82856bf20e2aa6",
  "0x1654653399040a61": "0x0ae53cb6e3f42a79",
  "0x0ae53cb6e3f42a79": "0x0ae53cb6e3f42a79",
  "0x1d7e57aa55817448": "0xf8d6e0586b0a20c7",
  "0xe467b9dd11fa00df": "0xf8d6e0586b0a20c7",
  "0xf8d6e0586b0a20c7": "0xf8d6e0586b0a20c7",
};

/** Returns a script with its imports from where the emulator has them, or where the fake contracts are. */
export const onEmulator = (script: string, fakesAt: string): string =>
  script.replace(/(?<=^import .* from )0x[0-9a-f]{16}$/gm, (address) => OWN[address] ?? `0x${fakesAt}`);
