import { AppError, type Clock, countPerMinute, isAppError, limitIdOf, type VerifiedToken } from "@countersign/core";
import {
  type AccountProof,
  accountProofMessage,
  type DecodedMessage,
  decodeMessage,
  envelopeMessage,
  InvalidMessageError,
  payloadMessage,
  readAccountProof,
  readUserMessage,
  userMessage,
} from "@countersign/flow";
import type { AuditLog, AuditReceipt } from "../audit/audit-log.ts";
import { sha256 } from "../audit/record.ts";
import type { Reservation } from "../budget/budget.ts";
import { checkSwitch, type Operation, type Policy, type PolicySource } from "../policy/policy.ts";
import type { KeyReference, Vault } from "../vault/index.ts";

/** The requester of a signature, as the audit record and the limits name it. */
export interface Requester {
  readonly caller: string;
  /** Empty where the request is not a user's. */
  readonly accountId: string;
  readonly sessionId: string;
  /** UUID whose limit of signatures per minute the request counts towards; empty: none. */
  readonly limitId: string;
}

/** Returns a text's SHA-256 in the form of a UUID, as which the database counts. */
const uuidOf = (text: string): string => sha256(text).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");

/**
 * Returns the requester of a user's request. The sessions of one device count together, and those of other
 * scopes each for itself: what a stolen phone, or a login, uses up must not stop the account's other devices.
 */
export const requesterOf = ({ token, caller }: { token: VerifiedToken; caller: string }): Requester => {
  const { accountId, sessionId, scope } = token;
  return { caller, accountId, sessionId, limitId: scope === "full" ? uuidOf(limitIdOf(token)) : sessionId };
};

/** Reasons of refusals that are recorded. */
const RECORDED_REASONS = [
  "SigningRefused",
  "InvalidMessage",
  "AccountNotReady",
  "InvalidRequest",
  "LoginTooOld",
  "TimeLockRequired",
  "TimeLockCancelled",
  "MessageRenewed",
] as const;

/**
 * Nothing is signed whose rules and effects took longer: the account service looks for the effects of
 * requests that began before a freeze until then (ALL_SIGNERS_INFORMED_MS). Requests of a stream have no
 * deadline.
 */
const MAX_DECISION_MS = 3_000;

/** The key that signs a permitted request, and the request's reservation of budgets. */
export interface Permission {
  readonly key: KeyReference;
  /** The account of the key on chain, 16 hex digits. */
  readonly address: string;
  readonly keyId: number;
  /** The amounts that the signature may use of budgets; undefined where none applies. */
  readonly reservation?: Reservation | undefined;
}

/** The policy when the request arrived, and the hash of its script. */
export interface DecisionContext {
  readonly policy: Policy;
  /** SHA-256, hex; empty for a message that is no transaction. */
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
  /** Refusals of one requester that are recorded per minute; more leave no record. */
  readonly recordedRefusalsPerMinute?: number;
}

/** The content of a message, by its operation. */
interface Contents extends Record<Exclude<Operation, "user-message" | "account-proof">, DecodedMessage> {
  /** The text. */
  readonly "user-message": string;
  readonly "account-proof": AccountProof;
}

/** How the content of messages is read, and written again. */
interface Codec<Content> {
  /** Throws InvalidMessageError. */
  read(message: Uint8Array): Content;
  write(content: Content): Uint8Array;
}

const TRANSACTION: Codec<DecodedMessage> = {
  read: decodeMessage,
  write: (content) => (content.kind === "payload" ? payloadMessage(content) : envelopeMessage(content)),
};
/** Each operation signs messages of its own domain tag only: no codec reads those of another. */
const CODECS: { readonly [O in Operation]: Codec<Contents[O]> } = {
  transaction: TRANSACTION,
  paymaster: TRANSACTION,
  creation: TRANSACTION,
  "user-message": { read: readUserMessage, write: (text) => userMessage(Buffer.from(text)) },
  "account-proof": { read: readAccountProof, write: accountProofMessage },
};

/** Decodes a message. Errors: InvalidMessage. */
function decode<Content>({ read, write }: Codec<Content>, message: Uint8Array): Content {
  let content: Content;
  try {
    content = read(message);
  } catch (error) {
    if (error instanceof InvalidMessageError) throw new AppError("InvalidMessage", { detail: error.message });
    throw error;
  }
  // The rules must see what is signed, byte for byte: a second check after the decoder's own.
  if (!Buffer.from(write(content)).equals(message)) {
    throw new AppError("InvalidMessage", { detail: "non-canonical encoding" });
  }
  return content;
}

const scriptHashOf = (content: Contents[Operation]): string =>
  typeof content === "object" && "script" in content ? sha256(content.script) : "";

/**
 * Creates the only way to a signature. Its order: decode the message; `permit` (rules, then effects); sign;
 * commit the audit record with the reservation; return the signature. Refusals with one of RECORDED_REASONS
 * are recorded, at most `recordedRefusalsPerMinute` for each caller and account; a user's refusals at the
 * commit are all recorded.
 */
export function createDecide(options: DecideOptions) {
  const { vault, audit, clock, policies, recordedRefusalsPerMinute = 60 } = options;
  const countRefusals = countPerMinute();

  /** Counts a refusal of the requester; returns whether it may still be recorded in this minute. */
  const takeRefusalSlot = ({ caller, accountId }: Requester): boolean =>
    countRefusals(`${caller}/${accountId}`, clock.now()) <= recordedRefusalsPerMinute;

  return async function decide<O extends Operation>(
    operation: O,
    message: Uint8Array,
    requester: Requester,
    permit: (content: Contents[O], context: DecisionContext) => Promise<Permission>,
  ): Promise<SignedMessage> {
    const policy = policies.current();
    const entry = {
      time: clock.now(),
      ...requester,
      operation,
      chainName: "",
      messageHash: sha256(message),
      scriptHash: "",
      policyVersion: policy.version,
      keyVersion: 0,
    };
    const endRequest = audit.requireWithinLimit(requester.limitId);
    try {
      let scriptHash = "";
      let permission: Permission;
      let signature: Uint8Array;
      try {
        const content: Contents[O] = decode(CODECS[operation], message);
        scriptHash = scriptHashOf(content);
        checkSwitch(operation, policy);
        permission = await permit(content, { policy, scriptHash });
        const decisionMs = clock.now().getTime() - entry.time.getTime();
        if (decisionMs > MAX_DECISION_MS) throw new AppError("DeadlineExceeded");
        signature = await vault.sign(permission.key, message);
      } catch (error) {
        if (isAppError(error, ...RECORDED_REASONS)) {
          // In the limit, the refusal takes the place of the request under way.
          endRequest();
          audit.noteRefusal(requester.limitId);
          const verdict = error.metadata.reason ?? error.reason;
          if (takeRefusalSlot(requester)) await audit.append({ ...entry, scriptHash, verdict });
        }
        throw error;
      }

      // The signature leaves only after this commit, which may still refuse it: a budget, or the limit of
      // signatures per minute over all replicas. `append` records that refusal itself.
      const { key, address, keyId, reservation } = permission;
      const signed = {
        ...entry,
        chainName: key.chainName,
        scriptHash,
        verdict: "signed",
        keyVersion: vault.version(key),
      };
      // A user's refusals at the commit are all recorded: they count as signatures per minute, so they are
      // few. The creations of the account service count in no such limit; their refusals count like others.
      const slot = requester.accountId === "" ? () => takeRefusalSlot(requester) : undefined;
      const receipt = await audit.append(signed, reservation, slot);
      return { address, keyId, signature, receipt };
    } finally {
      endRequest();
    }
  };
}
export type Decide = ReturnType<typeof createDecide>;
