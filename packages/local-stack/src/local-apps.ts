import { Failure } from "@countersign/build/fail.ts";
import { isOrigin } from "@countersign/keys";
import type { DevelopmentClient } from "./identity-provider.ts";

/** A developer's own app, as `npm start -- --app <origin>` registers it. */
export interface LocalApp {
  /** Such as `http://localhost:5173`: it may call the gateway, and use passkeys of `rpId`. */
  readonly origin: string;
  readonly rpId: string;
  readonly clientId: string;
  readonly redirectUris: readonly [string, ...string[]];
}

/**
 * Returns the apps of these origins. Throws Failure where one is no origin that browsers call from and make
 * passkeys for, or two would be the same client.
 */
export function localApps(origins: readonly string[]): LocalApp[] {
  const apps = origins.map(localApp);
  const twice = apps.find(({ clientId }, at) => apps.findIndex((app) => app.clientId === clientId) !== at);
  if (twice) throw new Failure(`--app ${twice.origin}: an app of this host and port is registered already.`);
  return apps;
}

function localApp(given: string): LocalApp {
  const origin = given.replace(/\/$/, "");
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  // The same text as browsers send: without a default port, in lower case.
  if (url?.origin !== origin || !isOrigin(origin, url.hostname)) {
    throw new Failure(
      `--app ${given}: give an origin as browsers send it, such as http://localhost:5173 or ` +
        "https://wallet.example.com; http is for localhost only, since browsers make no passkeys elsewhere.",
    );
  }
  const clientId = `app-${url.host.replaceAll(/[^a-z0-9]+/g, "-")}`;
  return { origin, rpId: url.hostname, clientId, redirectUris: [`${origin}/`, `${origin}/callback`] };
}

/** Returns an app as a client of the development provider: public, with PKCE. */
export const clientOfApp = ({ clientId, origin, redirectUris }: LocalApp): DevelopmentClient => ({
  clientId,
  appId: clientId,
  appName: origin,
  redirectUri: redirectUris[0],
  furtherRedirectUris: redirectUris.slice(1),
  keyBinding: "optional",
  confidential: false,
});

/** Returns what was registered for an app, for the person who started the stack. */
export const describeApp = ({ origin, rpId, clientId, redirectUris }: LocalApp): string =>
  [
    `app ${origin}: may call the gateway`,
    `  client id ${clientId}, redirect URIs ${redirectUris.join(" and ")}`,
    `  passkeys: RP id ${rpId}`,
  ].join("\n");
