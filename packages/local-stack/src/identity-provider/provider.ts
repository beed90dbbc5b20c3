import { join } from "node:path";
import Provider, { type Configuration, type KoaContextWithOIDC } from "oidc-provider";
import { readTrimmed } from "../secrets.ts";
import { Accounts } from "./accounts.ts";
import type { ProviderClient, ProviderConfig } from "./config.ts";
import { ensureProviderKeys } from "./keys.ts";
import { errorPage, loggedOutPage, logoutPage, PAGE_HEADERS } from "./pages.ts";

/** Returns a client's way to authenticate at the token endpoint. */
const authentication = ({ clientSecretFile }: ProviderClient) =>
  clientSecretFile === undefined
    ? { token_endpoint_auth_method: "none" as const }
    : { token_endpoint_auth_method: "client_secret_post" as const, client_secret: readTrimmed(clientSecretFile) };

/** Answers with a page in place of oidc-provider's own, which load a font from elsewhere. */
function show(ctx: KoaContextWithOIDC, body: string): void {
  ctx.set(PAGE_HEADERS);
  ctx.type = "html";
  ctx.body = body;
}

/** Returns what is registered, for the developer of an app that is not; "" after other errors. */
function registered(error: string, clients: readonly ProviderClient[], clientId: unknown): string {
  const how = "`npm start -- --app <origin or redirect URI>` registers an app.";
  if (error === "invalid_client") return ` Registered: ${clients.map((each) => each.clientId).join(", ")}. ${how}`;
  const client = clients.find((each) => each.clientId === clientId);
  if (error !== "invalid_redirect_uri" || !client) return "";
  return ` Registered for ${client.clientId}: ${client.redirectUris.join(", ")}. ${how}`;
}

/** Creates an OpenID provider for development: a real one (oidc-provider), but anybody logs in as anybody. */
export function createProvider(config: ProviderConfig): { provider: Provider; accounts: Accounts } {
  const accounts = new Accounts(join(config.stateDir, "accounts.json"));
  const { jwks, cookieKeys } = ensureProviderKeys(config.stateDir);
  const settings: Configuration = {
    clients: config.clients.map((client) => ({
      client_id: client.clientId,
      client_name: client.appName,
      redirect_uris: client.redirectUris,
      application_type: client.isNative ? "native" : "web",
      response_types: ["code"],
      grant_types: ["authorization_code"],
      ...authentication(client),
    })),
    jwks,
    cookies: { keys: cookieKeys },
    pkce: { required: (_ctx, client) => client.clientAuthMethod === "none" },
    scopes: ["openid", "email", "profile"],
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "picture"] },
    // Without this the claims of a scope would appear at the userinfo endpoint only, for each client.
    conformIdTokenClaims: false,
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true, allowedPolicy: (_ctx, client) => client.clientAuthMethod !== "none" },
      rpInitiatedLogout: {
        logoutSource: (ctx, form) => show(ctx, logoutPage(form)),
        postLogoutSuccessSource: (ctx) => show(ctx, loggedOutPage()),
      },
      revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    },
    // `theme`: light or dark, as the app that opened the window has it.
    extraParams: ["theme"],
    renderError: (ctx, { error, error_description: why }) => {
      const hint = registered(error, config.clients, ctx.oidc.params?.client_id);
      show(ctx, errorPage((why ? `${error}: ${why}.` : error) + hint));
    },
    interactions: { url: (_ctx, interaction) => `/interaction/${interaction.uid}` },
    clientBasedCORS: (_ctx, origin, client) =>
      new URL(origin).hostname === "localhost" ||
      (client.redirectUris ?? []).some((uri) => new URL(uri).origin === origin),
    ttl: {
      Session: 86_400,
      Grant: 86_400,
      Interaction: 3_600,
      AccessToken: 3_600,
      IdToken: 3_600,
      AuthorizationCode: 60,
    },
    findAccount: (ctx, sub) => {
      const account = accounts.find(sub);
      if (!account) return undefined;
      const { email, name } = account;
      const claims = { sub, email, email_verified: true, name, picture: `${config.issuer}/picture/${sub}.svg` };
      // Confidential clients get the profile from the userinfo endpoint only, as strict providers do it.
      const isPublic = ctx.oidc.client?.clientAuthMethod === "none";
      return { accountId: sub, claims: (use) => (use === "id_token" && !isPublic ? { sub } : claims) };
    },
  };
  return { provider: new Provider(config.issuer, settings), accounts };
}
