import { AppError, type Clock, isAppError, type VerifiedToken } from "@countersign/core";
import {
  type DecodedMessage,
  decodeMessage,
  envelopeMessage,
  InvalidMessageError,
  payloadMessage,
} from "@countersign/flow";
import type { AuditLog, AuditReceipt } from "../audit/audit-log.ts";
import { sha256 } from "../audit/record.ts";
import type { Reservation } from "../budget/budget.ts";
import { faultPoint } from "../fault-points.ts";
import { checkSwitch, type Operation, type Policy, type PolicySource } from "../policy/policy.ts";
import type { KeyReference, Vault } from "../vault/index.ts";

/** Who asks, for the record. */
export interface Asker {
  readonly caller: string;
  /** Empty where no user stands behind the request. */
  readonly accountId: string;
  readonly sessionId: string;
  /** Whose limit of signatures per minute this counts in: see AuditEntry. */
  readonly countedAs: string;
}

/**
 * Names who asks, by the token. Only a full session counts in the account's limit: an ephemeral token takes
 * no more than a login, and its refusals must not stop the account's devices.
 */
export const requesterOf = ({ accountId, sessionId, scope }: VerifiedToken, caller: string): Asker => ({
  caller,
  accountId,
  sessionId,
  countedAs: scope === "full" ? accountId : sessionId,
});

/** Refusals that the record keeps. */
const RECORDED = [
  "SigningRefused",
  "InvalidMessage",
  "AccountNotReady",
  "InvalidRequest",
  "LoginTooOld",
  "TimeLockRequired",
  "TimeLockCancelled",
  "MessageRenewed",
] as const;

/** What the rules allow: the key that signs, and where it stands on chain. */
export interface Permission {
  readonly key: KeyReference;
  /** 16 hex digits. */
  readonly address: string;
  readonly keyId: number;
  /** What the signature lets be used; absent where no budget is concerned. */
  readonly reservation?: Reservation | undefined;
}

/** What the rules decide by: the policy when the request came, and the script's hash (SHA-256, hex). */
export interface Deciding {
  readonly policy: Policy;
  readonly scriptHash: string;
}

/** A signature whose record is durable. */
export interface SignedMessage {
  readonly address: string;
  readonly keyId: number;
  readonly signature: Uint8Array;
  readonly receipt: AuditReceipt;
}

export interface DecideOptions {
  readonly vault: Vault;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly policies: PolicySource;
  /** Refusals of one asker that are recorded per minute; more are only counted. */
  readonly recordedRefusalsPerMinute?: number;
}

/** Decodes a message. Errors: InvalidMessage. */
function decode(message: Uint8Array): DecodedMessage {
  let decoded: DecodedMessage;
  try {
    decoded = decodeMessage(message);
  } catch (error) {
    if (error instanceof InvalidMessageError) throw new AppError("InvalidMessage", { detail: error.message });
    throw error;
  }
  // What the rules see must be what is signed, byte for byte: a second net below the decoder's own.
  const again = decoded.kind === "payload" ? payloadMessage(decoded) : envelopeMessage(decoded);
  if (!Buffer.from(again).equals(message)) throw new AppError("InvalidMessage", { detail: "another spelling" });
  return decoded;
}

/**
 * The one way to a signature: decode, let the rules decide, sign, make the record durable, and only then let the signature go. A refusal is recorded as well.
 */
export function createDecide(options: DecideOptions) {
  const { vault, audit, clock, policies, recordedRefusalsPerMinute = 60 } = options;
  let window = 0;
  const refusals = new Map<string, number>();

  const mayRecordRefusal = (asker: Asker): boolean => {
    const minute = Math.floor(clock.now().getTime() / 60_000);
    if (minute !== window) {
      refusals.clear();
      window = minute;
    }
    const id = `${asker.caller}/${asker.accountId}`;
    const count = (refusals.get(id) ?? 0) + 1;
    refusals.set(id, count);
    return count <= recordedRefusalsPerMinute;
  };

  return async function decide(
    operation: Operation,
    message: Uint8Array,
    asker: Asker,
    rules: (decoded: DecodedMessage, deciding: Deciding) => Promise<Permission>,
  ): Promise<SignedMessage> {
    const policy = policies.current();
    const entry = {
      time: clock.now(),
      ...asker,
      operation,
      chainName: "",
      messageHash: sha256(message),
      scriptHash: "",
      policyVersion: policy.version,
      keyVersion: 0,
    };
    audit.admit(asker.countedAs);
    let scriptHash = "";
    let recorded = false;
    try {
      const decoded = decode(message);
      scriptHash = sha256(decoded.script);
      checkSwitch(operation, policy);
      const { key, address, keyId, reservation } = await rules(decoded, { policy, scriptHash });
      const signature = await vault.sign(key, message);
      await faultPoint("signature made");
      // Whatever comes of it is recorded there: also that a budget is used up.
      recorded = true;
      const receipt = await audit.append(
        { ...entry, chainName: key.chainName, scriptHash, verdict: "signed", keyVersion: vault.version(key) },
        reservation,
        // Who has an account is limited by its signatures per minute, which count what a budget refuses.
        asker.accountId === "" ? () => mayRecordRefusal(asker) : undefined,
      );
      await faultPoint("audit committed");
      return { address, keyId, signature, receipt };
    } catch (error) {
      const refused = !recorded && isAppError(error, ...RECORDED);
      if (refused) audit.noteRefusal(asker.countedAs);
      if (refused && mayRecordRefusal(asker)) {
        const verdict = error.metadata.reason ?? error.reason;
        await audit.append({ ...entry, scriptHash, verdict });
      }
      throw error;
    }
  };
}
export type Decide = ReturnType<typeof createDecide>;
