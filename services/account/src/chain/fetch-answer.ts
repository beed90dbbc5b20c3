import { readBody } from "@countersign/core";

const MIB = 1024 * 1024;
/** More than the events of a transaction, which emits at most 256 kB in the chain's own encoding. */
const MAX_MIB = 32;
/**
 * About 14,000 keys, or some thousand events of a type: anybody may add any number, and while they are parsed, all
 * other requests wait.
 */
const MAX_MIB_OF_LIST = 4;

const withLimit =
  (maxMibOf: (url: string) => number): typeof fetch =>
  async (...request) => {
    const response = await fetch(...request);
    const maxMib = maxMibOf(String(request[0]));
    const body = await readBody(response, maxMib * MIB);
    if (!body) throw new TypeError(`the answer has more than ${maxMib} MiB`);
    return new Response(body.length === 0 ? null : body, response);
  };

/**
 * `fetch` for access nodes. Errors: TypeError where an answer has more than 32 MiB, or 4 if it is an account
 * or the events of blocks, and those of `fetch`.
 */
export const fetchAnswer = withLimit((url) => (/\/v1\/(accounts\/|events\?)/.test(url) ? MAX_MIB_OF_LIST : MAX_MIB));

/** The same with 32 MiB for all, of which one is read at a time. */
export const fetchLongAnswer = withLimit(() => MAX_MIB);
