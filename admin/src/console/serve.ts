import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { closeServer, isAppError, isUuid, listenAt } from "@countersign/core";
import type { Services } from "../services.ts";
import { CONTENT_SECURITY_POLICY, pageHtml, type Section } from "./page.ts";
import { findAccounts, readAccount, readOverview } from "./read.ts";

const MAX_FORM_BYTES = 2_048;

const HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Content-Type": "text/html; charset=utf-8",
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

interface Answer {
  readonly status: number;
  readonly title: string;
  readonly sections?: readonly Section[];
  /** Of a redirection: the path below the console's. */
  readonly location?: string;
}

/**
 * Serves the read-only console on loopback. Its path has 128 random bits: other people of this machine and
 * other web pages do not know it. A page that has bound its own name to 127.0.0.1 is refused by the Host.
 */
export async function serveConsole(services: Services, reason: string, wantedPort = 0) {
  const secret = randomBytes(16).toString("hex");
  const base = `/${secret}/`;

  async function find(request: IncomingMessage): Promise<Answer> {
    if (!(Number(request.headers["content-length"]) <= MAX_FORM_BYTES)) return { status: 413, title: "Too long" };
    const term = new URLSearchParams(await text(request)).get("term")?.trim() ?? "";
    const found = await findAccounts(services, reason, term);
    if (!found) return { status: 400, title: "Not an id, e-mail address, address or key" };
    if (found.length === 1) return { status: 303, title: "Found", location: `accounts/${found[0]}` };
    const rows = found.map((accountId) => ({ values: [accountId] }));
    const sections = [{ title: "Accounts", columns: ["account_id"], rows, truncated: false }];
    const isFound = rows.length > 0;
    return { status: isFound ? 200 : 404, title: isFound ? "Several accounts" : "No account", sections };
  }

  async function answer(request: IncomingMessage): Promise<Answer> {
    const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
    if (!hosts.includes(request.headers.host ?? "")) return { status: 421, title: "Not this host" };
    const given = Buffer.from((request.url ?? "").slice(0, base.length));
    if (given.length !== base.length || !timingSafeEqual(given, Buffer.from(base)))
      return { status: 404, title: "Not found" };
    const path = (request.url ?? "").slice(base.length);
    if (path === "find" && request.method === "POST") return find(request);
    if (request.method !== "GET") return { status: 405, title: "Only to read" };
    if (path === "") return { status: 200, title: "Overview", sections: await readOverview(services, reason) };
    const accountId = path.replace(/^accounts\//, "");
    if (!path.startsWith("accounts/") || !isUuid(accountId)) return { status: 404, title: "Not found" };
    return { status: 200, title: `Account ${accountId}`, sections: await readAccount(services, reason, accountId) };
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, title, sections, location } = await answer(request).catch((error: unknown) => ({
      status: 502,
      title: isAppError(error) ? `${error.reason} ${error.detail}` : "A service gave no answer",
      sections: [],
      location: undefined,
    }));
    response.writeHead(status, { ...HEADERS, ...(location !== undefined && { Location: `${base}${location}` }) });
    // Without the secret path there is nothing to lead back to.
    const isInside = request.url?.startsWith(base) === true;
    response.end(isInside ? pageHtml(base, title, sections ?? []) : title);
  }

  const server = createServer((request, response) => void respond(request, response));
  const port = await listenAt(server, `127.0.0.1:${wantedPort}`);
  return {
    url: `http://127.0.0.1:${port}${base}`,
    close: () => closeServer(server),
  };
}
