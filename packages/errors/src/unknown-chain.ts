import { AppError } from "./app-error.ts";

/** UTF-16 units of a caller's text that an error repeats. */
const MAX_QUOTED = 64;

/** The error UnknownChain for a name that is none of `available`; its detail says which name, and which there are. */
export function unknownChain(chainName: string, available: Iterable<string>): AppError {
  const quoted = JSON.stringify(chainName.slice(0, MAX_QUOTED).toWellFormed());
  const names = [...available].sort().map((name) => JSON.stringify(name));
  return new AppError("UnknownChain", { detail: `No chain ${quoted}; available: ${names.join(", ") || "none"}` });
}
