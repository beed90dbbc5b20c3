import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "./app.ts";
import { fixedPage } from "./fixed-page.ts";

const library = createRequire(import.meta.url);

/** The page loads its parts and the document from this gateway, and runs no inline code. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Countersign: HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<div id="api"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</html>
`;

// Read only: a page that sent requests would ask people for their tokens.
const START = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  supportedSubmitMethods: [],
  validatorUrl: null,
});
`;

/** Returns the page for people at /docs, made by Swagger UI from the OpenAPI document, with its parts. */
export function createDocsPages(): Page[] {
  const policy = { "Content-Security-Policy": POLICY };
  // Express's sendFile fails where headers ask for a part or a version that there is not.
  const file = (name: string, type: string): Page =>
    fixedPage(`/docs/${name}`, type, readFileSync(library.resolve(`swagger-ui-dist/${name}`)));
  return [
    fixedPage("/docs", "text/html", HTML, policy),
    fixedPage("/docs/start.js", "text/javascript", START, policy),
    file("swagger-ui.css", "text/css"),
    file("swagger-ui-bundle.js", "text/javascript"),
  ];
}
