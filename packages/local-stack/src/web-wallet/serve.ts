import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { stripTypeScriptTypes } from "node:module";
import { extname, join } from "node:path";
import { root } from "@countersign/build/paths.ts";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".ts": "text/javascript; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
};

/** The page's own files, and what they import: nothing else of the checkout is served. */
const FOLDERS: readonly [path: string, folder: string][] = [
  ...["client", "flow", "keys"].map((name): [string, string] => [`/packages/${name}/src/`, `packages/${name}/src`]),
  ...["@noble/curves", "@noble/hashes", "eventsource-parser"].map((name): [string, string] => [
    `/node_modules/${name}/`,
    `node_modules/${name}`,
  ]),
  ["/", "examples/web-wallet"],
];

/** Returns the file behind a path, or undefined: links and dots lead nowhere else. */
export function fileOf(path: string): string | undefined {
  const found = FOLDERS.find(([prefix]) => path.startsWith(prefix));
  if (!found || !(extname(path) in TYPES)) return undefined;
  const folder = realpathSync(join(root, found[1]));
  const file = join(folder, path.slice(found[0].length));
  if (!existsSync(file)) return undefined;
  const real = realpathSync(file);
  return real.startsWith(`${folder}/`) ? real : undefined;
}

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, {
    "content-type": type,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  });
  response.end(body);
}

/**
 * Serves the example page. TypeScript is served with its types blanked, so no build is needed. `config` is
 * the page's /config.json.
 */
export function createWebWallet(config: object): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    if (pathname === "/config.json") return send(response, "application/json", JSON.stringify(config));
    const file = fileOf(pathname === "/" ? "/index.html" : decodeURI(pathname));
    if (!file || request.method !== "GET") {
      response.writeHead(404).end();
      return;
    }
    const text = readFileSync(file, "utf8");
    send(response, TYPES[extname(file)] ?? "", extname(file) === ".ts" ? stripTypeScriptTypes(text) : text);
  });
}
