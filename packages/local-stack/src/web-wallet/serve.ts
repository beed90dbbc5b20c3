import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { extname, join } from "node:path";
import type { Faucet } from "./faucet.ts";

const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** No script from elsewhere; gateway, provider and access node are other ports of this machine. */
const POLICY = [
  "default-src 'self'",
  "connect-src 'self' http://localhost:* http://127.0.0.1:*",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const MAX_BODY_BYTES = 1_024;

/** Returns the built file behind a path, or undefined: links and dots lead nowhere else. */
export function fileOf(folder: string, path: string): string | undefined {
  if (!(extname(path) in TYPES)) return undefined;
  const inside = realpathSync(folder);
  const file = join(inside, path);
  if (!existsSync(file)) return undefined;
  const real = realpathSync(file);
  return real.startsWith(`${inside}/`) ? real : undefined;
}

function send(response: ServerResponse, type: string, body: string | Buffer, isHashed = false): void {
  response.writeHead(200, {
    "content-type": type,
    "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-store",
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
  });
  response.end(body);
}

async function addressOf(request: IncomingMessage): Promise<string | undefined> {
  let text = "";
  for await (const chunk of request) {
    text += chunk;
    if (text.length > MAX_BODY_BYTES) return undefined;
  }
  return /^\{"address":"(0x[0-9a-f]{16})"\}$/.exec(text)?.[1];
}

/** Test tokens for this page only: a page from elsewhere sends another origin. */
async function give(faucet: Faucet, origin: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const refuse = (status: number) => void response.writeHead(status).end();
  if (request.headers.origin !== origin) return refuse(403);
  const address = await addressOf(request);
  if (address === undefined) return refuse(400);
  try {
    send(response, "application/json", JSON.stringify({ id: await faucet.give(address) }));
  } catch (error) {
    console.error(`the faucet failed: ${(error as Error).message}`);
    refuse(502);
  }
}

/** The address, the files and the settings of the wallet. */
export interface ServedWallet {
  /** Such as `http://localhost:8090`. */
  origin: string;
  /** The folder of the build. */
  folder: string;
  /** The page's /config.json. */
  config: object;
  faucet: Faucet;
}

/** Serves the built wallet, its settings at /config.json, and test tokens at /faucet. */
export function createWebWallet({ origin, folder, config, faucet }: ServedWallet): Server {
  return createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", origin);
    if (request.method === "POST" && pathname === "/faucet") return void give(faucet, origin, request, response);
    if (request.method !== "GET") return void response.writeHead(405).end();
    if (pathname === "/config.json") return send(response, "application/json", JSON.stringify(config));
    const file = fileOf(folder, pathname === "/" ? "/index.html" : pathname);
    if (!file) return void response.writeHead(404).end();
    send(response, TYPES[extname(file)] ?? "", readFileSync(file), pathname.startsWith("/assets/"));
  });
}
