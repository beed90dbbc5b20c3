import { createPublicKey, createSecretKey, type KeyObject, X509Certificate } from "node:crypto";
import { AppError } from "@countersign/core";
import {
  ConfigError,
  type Files,
  type ReadFile,
  readJsonFile,
  readSecretFile,
  type WatchedFile,
} from "@countersign/runtime";
import { z } from "zod";
import type { VerifyAttestation } from "../../domain/attestation.ts";
import { appIdsIn } from "../providers-file.ts";
import { verifyAppAttest } from "./app-attest.ts";
import { APPLE_APP_ATTESTATION_ROOT } from "./apple-root.ts";
import { VERDICTS, verifyPlayIntegrity } from "./play-integrity.ts";

const appAttest = z.strictObject({
  teamId: z.string().regex(/^[A-Z0-9]{10}$/),
  bundleIds: z.array(z.string().regex(/^[A-Za-z0-9.-]{1,155}$/)).min(1),
  environment: z.enum(["production", "development"]).default("production"),
  /** A certificate in the place of Apple's root; for development and tests only. */
  rootFile: z.string().optional(),
});

const playIntegrity = z.strictObject({
  packageName: z.string().regex(/^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/),
  /** SHA-256 of the certificates that sign the app, as Play Integrity writes them. */
  certificateDigests: z.array(z.string().regex(/^[\w-]{43}$/)).min(1),
  verdicts: z.array(z.enum(VERDICTS)).min(1).default(["PLAY_RECOGNIZED", "LICENSED", "MEETS_DEVICE_INTEGRITY"]),
  /** Files with the two keys as the Play console shows them, in base64. */
  decryptionKeyFile: z.string(),
  verificationKeyFile: z.string(),
});

const policy = z
  .strictObject({
    appId: z.string().min(1),
    mode: z.enum(["off", "required"]),
    appAttest: appAttest.optional(),
    playIntegrity: playIntegrity.optional(),
  })
  .refine(({ appAttest: apple, playIntegrity: play }) => apple !== undefined || play !== undefined, {
    message: "Neither appAttest nor playIntegrity",
  });

const file = z.strictObject({ apps: z.array(policy) });

/** The verification of each app that requires attestations, by its app id. */
type AttestationPolicies = ReadonlyMap<string, VerifyAttestation>;

export interface AttestationFileOptions {
  /** Undefined: no app requires an attestation. */
  readonly path: string | undefined;
  /** AUTH_PROVIDERS_FILE, which has the apps: a policy for another app would protect nothing. */
  readonly providersPath: string;
  /** In production Apple's root is the only one. */
  readonly isProduction: boolean;
}

function keyIn(path: string, read: ReadFile, expected: string, make: (bytes: Buffer) => KeyObject): KeyObject {
  const bytes = Buffer.from(readSecretFile(path, read).trim(), "base64");
  try {
    return make(bytes);
  } catch {
    throw new ConfigError([`secret file ${path}: is not ${expected} in base64`]);
  }
}

function aesKey(bytes: Buffer): KeyObject {
  if (bytes.length !== 32) throw new Error("not 32 bytes");
  return createSecretKey(bytes);
}

function p256Key(der: Buffer): KeyObject {
  const key = createPublicKey({ key: der, format: "der", type: "spki" });
  if (key.asymmetricKeyDetails?.namedCurve !== "prime256v1") throw new Error("not of P-256");
  return key;
}

function rootOf(path: string | undefined, read: ReadFile, isProduction: boolean): X509Certificate {
  if (path === undefined) return new X509Certificate(APPLE_APP_ATTESTATION_ROOT);
  if (isProduction) throw new ConfigError(["appAttest.rootFile: is for tests, never for production"]);
  return new X509Certificate(read(path));
}

/** Returns the verification that an app's policy asks for. Errors: ConfigError. */
function verificationOf(
  { appId, appAttest: apple, playIntegrity: play }: z.output<typeof policy>,
  isProduction: boolean,
  read: ReadFile,
): VerifyAttestation {
  const root = apple && rootOf(apple.rootFile, read, isProduction);
  const verify = {
    "app-attest": apple && root && verifyAppAttest({ ...apple, root }),
    "play-integrity":
      play &&
      verifyPlayIntegrity({
        ...play,
        decryptionKey: keyIn(play.decryptionKeyFile, read, "a key of 32 bytes", aesKey),
        verificationKey: keyIn(play.verificationKeyFile, read, "a public key of P-256 (SPKI)", p256Key),
      }),
  };
  return async (attestation, hash, now) => {
    const verifyPlatform = verify[attestation.type];
    if (verifyPlatform) return verifyPlatform(attestation, hash, now);
    throw new AppError("InvalidAttestation", { detail: `App "${appId}" takes no attestations of ${attestation.type}` });
  };
}

function loadPolicies(
  path: string,
  { providersPath, isProduction }: AttestationFileOptions,
  read: ReadFile,
): AttestationPolicies {
  const { apps } = readJsonFile(path, file, read);
  const known = appIdsIn(providersPath, read);
  const problems = apps.flatMap(({ appId }, at) => [
    ...(known.has(appId) ? [] : [`${path}: apps.${at}.appId: no client of AUTH_PROVIDERS_FILE has it`]),
    ...(apps.findIndex((other) => other.appId === appId) === at ? [] : [`${path}: apps.${at}.appId: is there twice`]),
  ]);
  if (problems.length > 0) throw new ConfigError(problems);
  const required = apps.filter(({ mode }) => mode === "required");
  return new Map(required.map((app) => [app.appId, verificationOf(app, isProduction, read)]));
}

/** Loads the policies, and again when a file changes. Errors: ConfigError. */
export function watchAttestation(
  files: Pick<Files, "watch">,
  options: AttestationFileOptions,
): Pick<WatchedFile<AttestationPolicies>, "current"> {
  const { path } = options;
  if (path === undefined) return { current: () => new Map() };
  return files.watch("attestation", (read) => loadPolicies(path, options, read));
}
