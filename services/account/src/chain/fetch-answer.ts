import { readBody } from "@countersign/core";

/** More than a block's events of one type: a transaction emits at most 256 kB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** `fetch` for access nodes. Errors: TypeError where an answer has more than 32 MiB, and those of `fetch`. */
export async function fetchAnswer(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  const body = await readBody(response, MAX_ANSWER_BYTES);
  if (!body) throw new TypeError("the answer has more than 32 MiB");
  return new Response(body.length === 0 ? null : body, response);
}
