import { createHash } from "node:crypto";
import type { TokenKeysSource } from "../clients/token-keys.ts";
import type { Page } from "./app.ts";

/** Serves GET /.well-known/jwks.json from the gateway's own copy; If-None-Match is answered with 304. */
export function createJwksPage(source: Pick<TokenKeysSource, "read">): Page {
  return {
    path: "/.well-known/jwks.json",
    respond: async (_request, response) => {
      const { text, maxAgeSeconds } = await source.read();
      const etag = createHash("sha256").update(text).digest("base64url");
      response.set({ "Cache-Control": `public, max-age=${maxAgeSeconds}`, ETag: `"${etag}"` });
      response.type("application/json").send(text);
    },
  };
}
