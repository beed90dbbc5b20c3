import type { Page } from "./app.ts";

/** Pages that are there for people: what this is, the API's description, and where a login in a browser ends. */
export function createPages(openApi: object): Page[] {
  const description = JSON.stringify(openApi);
  return [
    {
      path: "/",
      respond: (_request, response) => {
        response.json({ name: "countersign", description: "/openapi.json", keys: "/.well-known/jwks.json" });
      },
    },
    {
      path: "/openapi.json",
      respond: (_request, response) => {
        response.set("Cache-Control", "public, max-age=300").type("application/json").send(description);
      },
    },
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
