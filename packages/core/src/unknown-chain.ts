import { AppError } from "./app-error.ts";

/** UTF-16 units of a caller's text that an error repeats. */
const MAX_QUOTED = 64;

/**
 * Returns UnknownChain for a name that is not in `available`; its detail gives the name and the known ones.
 */
export function unknownChain(chainName: string, available: Iterable<string>): AppError {
  const quoted = JSON.stringify(chainName.slice(0, MAX_QUOTED).toWellFormed());
  const names = [...available].sort().map((name) => JSON.stringify(name));
  return new AppError("UnknownChain", { detail: `No chain ${quoted}; available: ${names.join(", ") || "none"}` });
}

/** Returns what belongs to a chain's name. Errors: UnknownChain. */
export function chainNamed<C>(chains: ReadonlyMap<string, C>, chainName: string): C {
  const chain = chains.get(chainName);
  if (chain === undefined) throw unknownChain(chainName, chains.keys());
  return chain;
}
