import { hash } from "node:crypto";
import type { KeysPath, TokenKeysSource } from "../clients/token-keys.ts";
import type { Page } from "./app.ts";
import { createDocsPages } from "./docs-page.ts";
import { fixedPage } from "./fixed-page.ts";

/**
 * Returns the pages for people: a welcome, the description of the API, and the end of a login in a browser.
 */
export function createPages(documents: { openApi: object; asyncApi: object }): Page[] {
  return [
    {
      path: "/",
      respond: (_request, response) => {
        response.json({
          name: "countersign",
          docs: "/docs",
          description: "/openapi.json",
          events: "/asyncapi.json",
          keys: "/.well-known/jwks.json",
          identityTokens: "/.well-known/openid-configuration",
        });
      },
    },
    ...createDocsPages(),
    documentPage("/openapi.json", documents.openApi),
    documentPage("/asyncapi.json", documents.asyncApi),
    {
      // The code stays in the address: a page that copied it anywhere would leak it.
      path: "/callback",
      respond: (_request, response) => {
        response
          .type("text/html")
          .send("<!doctype html><title>Signed in</title><p>You can go back to the application.</p>");
      },
    },
  ];
}

const documentPage = (path: string, document: object): Page =>
  fixedPage(path, "application/json", JSON.stringify(document));

/**
 * Serves the discovery document of identity tokens (OpenID Connect Discovery 1.0), without the endpoints of a
 * login: nobody logs in here. None where the issuer is no URL, since verifiers derive the path from it.
 */
export function createDiscoveryPage(issuer: string): Page[] {
  if (!URL.canParse(issuer)) return [];
  return [
    documentPage("/.well-known/openid-configuration", {
      issuer,
      jwks_uri: `${issuer.replace(/\/$/, "")}/.well-known/identity-keys.json`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
      scopes_supported: ["openid"],
      claims_supported: ["iss", "aud", "sub", "sid", "jti", "iat", "exp", "auth_time", "nonce", "device_key"],
    }),
  ];
}

/** Serves public keys from the gateway's own copy; If-None-Match is answered with 304. */
export function createJwksPage(path: KeysPath, source: Pick<TokenKeysSource, "read">): Page {
  return {
    path,
    respond: async (_request, response) => {
      const { text, maxAgeSeconds } = await source.read();
      const etag = hash("sha256", text, "base64url");
      response.set({ "Cache-Control": `public, max-age=${maxAgeSeconds}`, ETag: `"${etag}"` });
      response.type("application/json").send(text);
    },
  };
}
