import { readBody } from "@countersign/core";

const MIB = 1024 * 1024;
/** More than a block's events of one type: a transaction emits at most 256 kB. */
const MAX_MIB = 32;
/** About 14,000 keys: the owner may add any number, and while they are parsed, all other requests wait. */
const MAX_MIB_OF_ACCOUNT = 4;

/**
 * `fetch` for access nodes. Errors: TypeError where an answer has more than 32 MiB, or 4 if it is an
 * account, and those of `fetch`.
 */
export async function fetchAnswer(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  const maxMib = String(request[0]).includes("/v1/accounts/") ? MAX_MIB_OF_ACCOUNT : MAX_MIB;
  const body = await readBody(response, maxMib * MIB);
  if (!body) throw new TypeError(`the answer has more than ${maxMib} MiB`);
  return new Response(body.length === 0 ? null : body, response);
}
