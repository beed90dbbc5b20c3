import type { KeyObject } from "node:crypto";
import { AppError } from "@countersign/core";
import { bytesToBase64url } from "@countersign/keys";
import { compactDecrypt, compactVerify } from "jose";
import { z } from "zod";
import type { VerifyAttestation } from "../../domain/attestation.ts";

/** The verdicts that an app may require. */
export const VERDICTS = [
  "PLAY_RECOGNIZED",
  "LICENSED",
  "MEETS_BASIC_INTEGRITY",
  "MEETS_DEVICE_INTEGRITY",
  "MEETS_STRONG_INTEGRITY",
] as const;

/** An app of Google Play. */
export interface PlayIntegrityApp {
  readonly packageName: string;
  /** SHA-256 of the certificates that sign the app, in base64url. */
  readonly certificateDigests: readonly string[];
  readonly verdicts: readonly (typeof VERDICTS)[number][];
  /** AES-256, from the app's page of the Play console. */
  readonly decryptionKey: KeyObject;
  /** P-256, from the same page. */
  readonly verificationKey: KeyObject;
}

/** As long as a login token is valid. */
const MAX_AGE_MS = 600_000;
/** Google's clock may be ahead. */
const SKEW_MS = 60_000;

/** The members that are checked. Google leaves out what it did not evaluate, and adds others. */
const payloadSchema = z.object({
  requestDetails: z.object({
    requestPackageName: z.string(),
    nonce: z.string(),
    timestampMillis: z.string().regex(/^\d{1,15}$/),
  }),
  appIntegrity: z.object({
    appRecognitionVerdict: z.string(),
    packageName: z.string(),
    certificateSha256Digest: z.array(z.string()).min(1),
  }),
  deviceIntegrity: z.object({ deviceRecognitionVerdict: z.array(z.string()).default([]) }),
  accountDetails: z.object({ appLicensingVerdict: z.string().optional() }).default({}),
  testingDetails: z.object({ isTestingResponse: z.boolean().optional() }).optional(),
});

const refuse = (detail: string, cause?: unknown): AppError =>
  new AppError("InvalidAttestation", { detail: `Play Integrity: ${detail}`, cause });

/** Returns the payload of a token: JSON in a JWS of ES256, in a JWE of A256KW and A256GCM. */
async function payloadOf(token: string, { decryptionKey, verificationKey }: PlayIntegrityApp) {
  try {
    const { plaintext } = await compactDecrypt(token, decryptionKey, {
      keyManagementAlgorithms: ["A256KW"],
      contentEncryptionAlgorithms: ["A256GCM"],
    });
    const { payload } = await compactVerify(plaintext, verificationKey, { algorithms: ["ES256"] });
    return payloadSchema.parse(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload)));
  } catch (cause) {
    throw refuse("this is no token of a classic request, or it is of another app's keys", cause);
  }
}

/** Returns the wrong thing about a payload; undefined: it is as the app requires it. */
function problemOf(payload: z.output<typeof payloadSchema>, app: PlayIntegrityApp, nonce: string, now: Date) {
  const { requestDetails, appIntegrity, deviceIntegrity, accountDetails, testingDetails } = payload;
  const { packageName } = app;
  if (requestDetails.requestPackageName !== packageName || appIntegrity.packageName !== packageName) {
    return "it is of another app";
  }
  if (requestDetails.nonce.replace(/=$/, "") !== nonce) {
    return "it is about another request: login token, keys, chain and operation must be those of this one";
  }
  const age = now.getTime() - Number(requestDetails.timestampMillis);
  if (age > MAX_AGE_MS || age < -SKEW_MS) return "it is not of the last ten minutes";
  if (testingDetails?.isTestingResponse) return "it is a tester's, with verdicts that the Play console made";
  if (!appIntegrity.certificateSha256Digest.every((digest) => app.certificateDigests.includes(digest))) {
    return "the app is signed with another certificate";
  }
  const reached = [
    appIntegrity.appRecognitionVerdict,
    accountDetails.appLicensingVerdict,
    ...deviceIntegrity.deviceRecognitionVerdict,
  ];
  const missing = app.verdicts.filter((verdict) => !reached.includes(verdict));
  return missing.length === 0 ? undefined : `the verdict lacks ${missing.join(", ")}`;
}

/**
 * Verifies tokens of classic requests with the app's own keys, without a call to Google. Errors:
 * InvalidAttestation.
 */
export const verifyPlayIntegrity =
  (app: PlayIntegrityApp): VerifyAttestation =>
  async ({ token }, hash, now) => {
    const nonce = bytesToBase64url(hash);
    const payload = await payloadOf(token, app);
    const problem = problemOf(payload, app, nonce, now);
    if (problem !== undefined) throw refuse(problem);
    return nonce;
  };
