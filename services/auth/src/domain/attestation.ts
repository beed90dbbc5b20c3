import { AppError, type Clock } from "@countersign/core";
import { type AttestedRequest, attestationHash } from "@countersign/keys";
import { hashOf, type Idempotency } from "./idempotency.ts";

/** A platform's statement that a genuine app on a genuine device makes a request, as a client sent it. */
export interface Attestation {
  readonly type: "app-attest" | "play-integrity";
  /** Of App Attest: the key's id in base64; otherwise "". */
  readonly keyId: string;
  /** The attestation object in base64, or the integrity token. */
  readonly token: string;
}

/**
 * Verifies an attestation that is about this hash. Returns the attestation's id: App Attest's key id, or Play
 * Integrity's nonce. Errors: InvalidAttestation.
 */
export type VerifyAttestation = (attestation: Attestation, hash: Uint8Array, now: Date) => Promise<string>;

/** Remembers attestations for longer than a login token is valid. */
export interface AttestationStore {
  /** Records the use of an attestation, or returns whether an earlier use had the same fingerprint. */
  use(use: Idempotency, now: Date): Promise<"first" | "same" | "other">;
}

interface AttestationOptions {
  /** Returns the verification of an app's attestations; undefined: the app requires none. */
  policyOf(appId: string): VerifyAttestation | undefined;
  readonly attestations: AttestationStore;
  readonly clock: Clock;
}

/** A command that an app sends with the attestation of its request. */
export interface AttestedCommand extends Pick<AttestedRequest, "chainName" | "accountKey" | "deviceKey"> {
  readonly login: { readonly token: string };
  readonly idempotencyKey: string;
  readonly attestation: Attestation | undefined;
}

/**
 * Requires an attestation of the app's command, where its policy asks for one. Errors: AttestationRequired,
 * InvalidAttestation.
 */
export type RequireAttestation = (
  operation: AttestedRequest["operation"],
  appId: string,
  command: AttestedCommand,
) => Promise<void>;

/**
 * Requires attestations of the apps whose policy asks for them. An attestation names operation, chain, login
 * token and keys, so it cannot be moved to another request. It counts once, except for a repetition of its
 * own request with the same Idempotency-Key.
 *
 * Writes: the use, in a commit of its own, before anything else of the request.
 * Crash: a repetition with the Idempotency-Key goes on; without one the app makes another attestation.
 * Race: the database takes one use.
 */
export const requireAttestation =
  ({ policyOf, attestations, clock }: AttestationOptions): RequireAttestation =>
  async (operation, appId, { login, chainName, accountKey, deviceKey, idempotencyKey, attestation }) => {
    const verify = policyOf(appId);
    if (verify === undefined) return;
    if (attestation === undefined) throw new AppError("AttestationRequired");
    const hash = attestationHash({ operation, chainName, loginToken: login.token, accountKey, deviceKey });
    const now = clock.now();
    const id = await verify(attestation, hash, now);
    const use = {
      id: hashOf(["attestation", attestation.type, id]),
      fingerprint: hashOf([Buffer.from(hash).toString("hex"), idempotencyKey]),
    };
    const used = await attestations.use(use, now);
    if (used === "first" || (used === "same" && idempotencyKey !== "")) return;
    const detail = "The attestation was used before; a lost answer is repeated with the same Idempotency-Key";
    throw new AppError("InvalidAttestation", { detail });
  };
