import type { Page } from "./app.ts";

/** Returns a page whose content never changes; clients may keep it for five minutes. */
export function fixedPage(
  path: string,
  type: string,
  content: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): Page {
  // Express would encode a text for each answer: a client that reads none of them could fill the memory.
  const bytes = Buffer.from(content);
  return {
    path,
    respond: (_request, response) => {
      response.set({ "Cache-Control": "public, max-age=300", ...headers });
      response.type(type).send(bytes);
    },
  };
}
