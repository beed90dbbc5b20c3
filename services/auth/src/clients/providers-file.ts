import { type Files, type ReadFile, readJsonFile, readSecretFile, type WatchedFile } from "@countersign/runtime";
import { z } from "zod";

const client = z
  .strictObject({
    clientId: z.string().min(1),
    /** A file with the client's secret; absent for a public client. */
    clientSecretFile: z.string().optional(),
    appId: z.string().regex(/^[\w.-]{1,128}$/),
    appName: z.string().regex(/^\P{Cc}{1,128}$/u, "must have 1 to 128 characters, none of them a control character"),
    /** required: a login counts only for the key whose fingerprint is its nonce. */
    keyBinding: z.enum(["optional", "required"]),
    allowCodeWithoutVerifier: z.boolean().default(false),
    redirectUris: z.array(z.string().min(1)).min(1),
    /** The redirect URI of codes that come without one; by default the only one. */
    defaultRedirectUri: z.string().optional(),
  })
  .refine(({ redirectUris, defaultRedirectUri }) => !defaultRedirectUri || redirectUris.includes(defaultRedirectUri), {
    path: ["defaultRedirectUri"],
    message: "Not one of redirectUris",
  });

const provider = z.strictObject({
  name: z.string().min(1),
  issuer: z.url(),
  /** For development only: plain http, to this machine. */
  allowInsecureHttp: z.boolean().default(false),
  clients: z.array(client).min(1),
  /** The credentials for asking about opaque access tokens (RFC 7662); absent: none is a login. */
  introspection: z.strictObject({ clientId: z.string().min(1), clientSecretFile: z.string() }).optional(),
  /** `aud` of access tokens that are meant for this service, besides their own client's id. */
  accessTokenAudience: z.string().min(1).optional(),
});

export type ProviderClient = Omit<z.output<typeof client>, "clientSecretFile"> & {
  readonly clientSecret: string | undefined;
};
export type ProviderConfig = Omit<z.output<typeof provider>, "clients" | "introspection"> & {
  readonly clients: readonly ProviderClient[];
  readonly introspection?: { readonly clientId: string; readonly clientSecret: string } | undefined;
};

const areDistinct = (texts: readonly string[]): boolean => new Set(texts).size === texts.length;

// Of two entries of a client only one would count, or a login would choose between their rules.
const file = z
  .strictObject({ providers: z.array(provider).min(1) })
  .refine(({ providers }) => areDistinct(providers.map(({ name }) => name)), "two providers have the same name")
  .refine(
    ({ providers }) =>
      areDistinct(providers.flatMap(({ issuer, clients }) => clients.map(({ clientId }) => `${issuer} ${clientId}`))),
    "a clientId of an issuer is there twice",
  );

/** Returns the accepted identity providers, and our clients there. Errors: ConfigError. */
function loadProviders(path: string, read: ReadFile): ProviderConfig[] {
  const secretIn = (file: string) => readSecretFile(file, read).trim();
  return readJsonFile(path, file, read).providers.map(({ introspection, ...each }) => ({
    ...each,
    clients: each.clients.map(({ clientSecretFile, ...rest }) => ({
      ...rest,
      clientSecret: clientSecretFile === undefined ? undefined : secretIn(clientSecretFile),
    })),
    introspection: introspection && {
      clientId: introspection.clientId,
      clientSecret: secretIn(introspection.clientSecretFile),
    },
  }));
}

/** Returns the ids of the apps that the file has clients of. Errors: ConfigError. */
export const appIdsIn = (path: string, read: ReadFile): ReadonlySet<string> =>
  new Set(readJsonFile(path, file, read).providers.flatMap(({ clients }) => clients.map(({ appId }) => appId)));

/** Loads them, and again when the file or one of the secrets' files changes. Errors: ConfigError. */
export const watchProviders = (files: Pick<Files, "watch">, path: string): WatchedFile<readonly ProviderConfig[]> =>
  files.watch("providers", (read) => loadProviders(path, read));
