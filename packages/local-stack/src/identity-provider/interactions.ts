import type { IncomingMessage, ServerResponse } from "node:http";
import type Provider from "oidc-provider";
import type { Accounts } from "./accounts.ts";
import { consentPage, errorPage, font, homePage, loginPage, PAGE_HEADERS, picture } from "./pages.ts";
import { lookOf } from "./texts.ts";

const formLimit = 8192;

function send(response: ServerResponse, status: number, body: string, type = "text/html; charset=utf-8"): void {
  response.writeHead(status, { ...PAGE_HEADERS, "content-type": type });
  response.end(body);
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let body = "";
  for await (const chunk of request) {
    body += chunk;
    if (body.length > formLimit) throw new Error("the form is too large");
  }
  return new URLSearchParams(body);
}

/** Serves the login and consent pages, their font, pictures, and the home page. Returns false for others. */
export function createInteractions(provider: Provider, accounts: Accounts) {
  const appNameOf = async (clientId: unknown) =>
    (await provider.Client.find(String(clientId)))?.clientName ?? String(clientId);

  async function show(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { uid, prompt, params, session } = await provider.interactionDetails(request, response);
    const appName = await appNameOf(params.client_id);
    const look = lookOf(params);
    if (prompt.name === "login")
      return send(response, 200, loginPage(look, uid, appName, { hint: String(params.login_hint ?? "") }));
    send(response, 200, consentPage(look, uid, appName, accounts.find(session?.accountId ?? "")));
  }

  async function login(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { uid, params } = await provider.interactionDetails(request, response);
    const account = accounts.logIn((await readForm(request)).get("email") ?? "");
    if (!account) {
      const appName = await appNameOf(params.client_id);
      return send(response, 400, loginPage(lookOf(params), uid, appName, { isRefused: true }));
    }
    const result = { login: { accountId: account.sub } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  async function confirm(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
    if (prompt.name !== "consent" || !session) throw new Error("there is nothing to allow");
    const known = grantId ? await provider.Grant.find(grantId) : undefined;
    const grant = known ?? new provider.Grant({ accountId: session.accountId, clientId: String(params.client_id) });
    const { missingOIDCScope, missingOIDCClaims } = prompt.details as Record<string, string[] | undefined>;
    if (missingOIDCScope) grant.addOIDCScope(missingOIDCScope.join(" "));
    if (missingOIDCClaims) grant.addOIDCClaims(missingOIDCClaims);
    const result = { consent: { grantId: await grant.save() } };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  }

  async function abort(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const result = { error: "access_denied", error_description: "the person cancelled" };
    await provider.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  const routes: Record<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>> = {
    "GET ": show,
    "POST login": login,
    "POST confirm": confirm,
    "GET abort": abort,
  };

  return async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const [, area, id, action = "", extra] = pathname.split("/");
    if (pathname === "/") {
      send(response, 200, homePage());
      return true;
    }
    if (pathname === "/geist.woff2") {
      response.writeHead(200, { "content-type": "font/woff2", "cache-control": "public, max-age=86400" }).end(font);
      return true;
    }
    if (area === "picture" && id) {
      const sub = id.replace(/\.svg$/, "");
      const account = accounts.find(sub);
      if (account) send(response, 200, picture(account.name, sub), "image/svg+xml");
      else send(response, 404, errorPage("There is no such picture."));
      return true;
    }
    const route = area === "interaction" && id && !extra ? routes[`${request.method} ${action}`] : undefined;
    if (!route) return false;
    try {
      await route(request, response);
    } catch (error) {
      const { message, error_description } = error as Error & { error_description?: string };
      if (!response.headersSent) send(response, 400, errorPage(error_description ?? message));
    }
    return true;
  };
}
