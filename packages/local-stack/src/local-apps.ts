import { Failure } from "@countersign/build/fail.ts";
import { isOrigin } from "@countersign/keys";
import type { DevelopmentClient } from "./identity-provider.ts";

/** A developer's own app, as `npm start -- --app <origin or redirect URI>` registers it. */
export interface LocalApp {
  /** Such as `http://localhost:5173`: it may call the gateway, and use passkeys. Undefined for a phone's. */
  readonly origin?: string;
  readonly clientId: string;
  readonly redirectUris: readonly [string, ...string[]];
}

/** A redirect URI with an app's own scheme (RFC 8252, section 7.1): a domain in reverse order. */
const OWN_SCHEME = /^([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+):\/[\w/-]*$/;

const nameOf = ({ origin, redirectUris }: LocalApp): string => origin ?? redirectUris[0];

/**
 * Returns the apps of these origins and of phones' redirect URIs. Throws Failure where one is no origin that
 * browsers call from and make passkeys for, or two would be the same client.
 */
export function localApps(origins: readonly string[]): LocalApp[] {
  const apps = origins.map(localApp);
  const twice = apps.find(({ clientId }, at) => apps.findIndex((app) => app.clientId === clientId) !== at);
  if (twice) throw new Failure(`--app ${nameOf(twice)}: an app of this host and port is registered already.`);
  return apps;
}

function localApp(given: string): LocalApp {
  const scheme = OWN_SCHEME.exec(given)?.[1];
  if (scheme !== undefined) return { clientId: `app-${scheme.replaceAll(".", "-")}`, redirectUris: [given] };
  const origin = given.replace(/\/$/, "");
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  // The same text as browsers send: without a default port, in lower case.
  if (url?.origin !== origin || !isOrigin(origin, url.hostname)) {
    throw new Failure(
      `--app ${given}: give an origin as browsers send it, such as http://localhost:5173 or ` +
        "https://wallet.example.com; http is for localhost only, since browsers make no passkeys elsewhere. " +
        "For an app on a phone give its redirect URI, such as com.example.wallet:/callback.",
    );
  }
  const clientId = `app-${url.host.replaceAll(/[^a-z0-9]+/g, "-")}`;
  return { origin, clientId, redirectUris: [`${origin}/`, `${origin}/callback`] };
}

/** Returns an app as a client of the development provider: public, with PKCE. */
export const clientOfApp = (app: LocalApp): DevelopmentClient => ({
  clientId: app.clientId,
  appName: nameOf(app),
  redirectUris: app.redirectUris,
  isNative: app.origin === undefined,
  keyBinding: "required",
});

/** Returns what was registered for an app, for the person who started the stack. */
export function describeApp({ origin, clientId, redirectUris }: LocalApp): string {
  const client = `  client id ${clientId}, redirect URI${redirectUris.length > 1 ? "s" : ""} ${redirectUris.join(" and ")}`;
  if (origin === undefined) return `app on a phone\n${client}`;
  const passkeys = `  passkeys: RP id ${new URL(origin).hostname}`;
  return [`app ${origin}: may call the gateway`, client, passkeys].join("\n");
}
