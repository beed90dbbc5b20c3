import { type DecodedMessage, payloadMessage } from "@countersign/flow";
import { hexToBytes } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import { refusal } from "./refusal.ts";
import type { RequestFacts } from "./request-facts.ts";
import type { Rule } from "./rule.ts";
import { deviceSignatures, noBlockedKeySigned, signaturesAreFew } from "./signatures.ts";
import {
  linkHasTwoAccounts,
  namesNoRotatedServerKey,
  templateArgumentsAreReadable,
  templateKeysAreAllowed,
} from "./template-rules.ts";
import {
  accountProposes,
  gasLimitIsWithinCap,
  payerIsKnown,
  scriptIsPresent,
  serverKeyProposesTemplatesOnly,
  tokenScopeAllows,
} from "./transaction-rules.ts";

/** A message that the paymaster is to sign; all that is known before the account is. */
export interface EnvelopeFacts {
  readonly message: DecodedMessage;
  /** The paymasters of all chains. */
  readonly paymasters: ReadonlySet<string>;
}

export const isEnvelope: Rule<EnvelopeFacts> = ({ message }) =>
  message.kind === "envelope" ? undefined : refusal("WrongMessageKind", "the paymaster signs an envelope");

/** The envelope signature would authorize too: a paymaster that is authorizer or proposer can be drained. */
export const paymasterOnlyPays: Rule<EnvelopeFacts> = ({ message: { authorizers, proposalKey }, paymasters }) =>
  [...authorizers, proposalKey.address].some((address) => paymasters.has(address))
    ? refusal("PaymasterWouldAuthorize", "the paymaster must be neither authorizer nor proposer")
    : undefined;

export const paymasterPays: Rule<RequestFacts> = ({ message, chain }) =>
  message.payer === chain.paymaster.address
    ? undefined
    : refusal("UnknownPayer", "the payer is not the service's paymaster");

export const accountSignedAlone: Rule<RequestFacts> = ({ message, account }) =>
  message.payloadSignatures.every(({ address }) => address === account.address)
    ? undefined
    : refusal("UserSignatureInvalid", "the payload carries a signature of another account");

/**
 * For an ephemeral token, whose key is not on the account yet, the payload must carry the server key's
 * signature: so the message has passed the authorizer's rules.
 */
export const serverKeySignedForEphemeralToken: Rule<RequestFacts> = ({ token, message, account, template }) => {
  if (token.scope !== "sign") return undefined;
  const own = message.payloadSignatures.find(({ keyId }) => keyId === account.serverKeyIndex);
  if (!own) return refusal("UserSignatureMissing", "the payload carries no signature of the server key");
  const serverKey = template?.serviceKeys.serverKey;
  const isValid =
    serverKey !== undefined &&
    own.extensionData === undefined &&
    verifySignature(serverKey, payloadMessage(message), hexToBytes(own.signature), "sha3-256");
  return isValid ? undefined : refusal("UserSignatureInvalid", "the server key's signature is not valid");
};

/** The chain might not accept a second signature of a device, and the paymaster would pay for nothing. */
export const oneDeviceSigned: Rule<Pick<RequestFacts, "message" | "account">> = ({ message, account }) => {
  const { length } = deviceSignatures(message, account);
  if (length === 0) return refusal("UserSignatureMissing", "the payload carries no signature of a device");
  return length > 1
    ? refusal("UserSignatureInvalid", "the payload carries more than one device's signature")
    : undefined;
};

/** The rules of the paymaster's signature that need no account; they come before PAYMASTER_RULES. */
export const ENVELOPE_RULES: readonly Rule<EnvelopeFacts>[] = [isEnvelope, paymasterOnlyPays];

/** The rules of the paymaster's signature over a user's envelope, in the order in which they apply. */
export const PAYMASTER_RULES: readonly Rule<RequestFacts>[] = [
  signaturesAreFew,
  templateArgumentsAreReadable,
  tokenScopeAllows,
  paymasterPays,
  namesNoRotatedServerKey,
  accountProposes,
  payerIsKnown,
  serverKeyProposesTemplatesOnly,
  scriptIsPresent,
  gasLimitIsWithinCap,
  linkHasTwoAccounts,
  templateKeysAreAllowed,
  accountSignedAlone,
  serverKeySignedForEphemeralToken,
  oneDeviceSigned,
  noBlockedKeySigned,
];
