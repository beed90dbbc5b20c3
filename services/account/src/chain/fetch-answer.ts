/** More than a block's events of one type: a transaction emits at most 256 kB. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

/** `fetch` for access nodes. Errors: TypeError where an answer has more than 32 MiB, and those of `fetch`. */
export async function fetchAnswer(...request: Parameters<typeof fetch>): Promise<Response> {
  const response = await fetch(...request);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new TypeError("the answer has more than 32 MiB");
    chunks.push(chunk);
  }
  return new Response(length === 0 ? null : Buffer.concat(chunks), response);
}
