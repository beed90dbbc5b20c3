import { readBody } from "@countersign/core";

const MIB = 1024 * 1024;

const fetchUpTo =
  (maxMib: number): typeof fetch =>
  async (...request) => {
    const response = await fetch(...request);
    const body = await readBody(response.body, maxMib * MIB);
    if (!body) throw new TypeError(`the answer has more than ${maxMib} MiB`);
    return new Response(body.length === 0 ? null : body, response);
  };

/**
 * `fetch` for access nodes. A transaction has at most 1.5 MB, and 4 MiB are about 14,000 keys of an account:
 * anybody may make longer lists of keys and events, and while they are parsed, all other requests wait.
 * Errors: TypeError where an answer has more than 4 MiB, and those of `fetch`.
 */
export const fetchAnswer = fetchUpTo(4);

/**
 * The same up to 32 MiB, for answers that are read one at a time: more than a transaction's events, which it
 * emits up to 256 kB in the chain's own encoding.
 */
export const fetchLongAnswer = fetchUpTo(32);
