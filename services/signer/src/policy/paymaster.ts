import type { VerifiedToken } from "@countersign/core";
import { type DecodedMessage, payloadMessage } from "@countersign/flow";
import { verifyUserSignatureInPool } from "@countersign/flow/node";
import { hexToBytes, type PublicKey, type RelyingParty } from "@countersign/keys";
import { verifySignature } from "@countersign/keys/node";
import type { Binding } from "./account.ts";
import { refuse } from "./refusal.ts";
import { type ChainPolicy, isServerKeyIndex } from "./transaction.ts";

/** The paymaster signs envelopes only. */
export function checkPaymasterKind(message: DecodedMessage): void {
  if (message.kind !== "envelope") refuse("WrongMessageKind", "the paymaster signs an envelope");
}

/** Its envelope signature would authorize too: a paymaster that is authorizer or proposer can be drained. */
export function checkPaymasterOnlyPays(message: DecodedMessage, paymasters: ReadonlySet<string>): void {
  if (message.authorizers.some((address) => paymasters.has(address)) || paymasters.has(message.proposalKey.address)) {
    refuse("PaymasterWouldAuthorize", "the paymaster only ever pays");
  }
}

/** The paymaster pays for what our paymaster is named the payer of. */
export function checkPaymasterPays(message: DecodedMessage, chain: ChainPolicy): void {
  if (message.payer !== chain.paymaster.address) refuse("UnknownPayer", "the payer is not our paymaster");
}

/**
 * The payload must carry a valid signature of the session device's account key: a stolen token alone must not spend. Beside it the server key's may stand, also that of one
 * which was rotated out since it signed: nobody is refused in between, and the chain says that it is too late.
 * A plain one over SHA2-256, or a passkey's assertion for one of the app's relying parties.
 */
export async function checkUserSignature(
  message: DecodedMessage,
  account: Binding,
  token: VerifiedToken,
  relyingParties: readonly RelyingParty[],
): Promise<void> {
  if (message.payloadSignatures.some(({ address }) => address !== account.address)) {
    refuse("UserSignatureInvalid", "the payload carries a signature of somebody else");
  }
  const ofUser = message.payloadSignatures.filter(
    ({ address, keyId }) => address === account.address && !isServerKeyIndex(account, keyId),
  );
  const [first] = ofUser;
  if (!first) return refuse("UserSignatureMissing", "the payload carries no signature of the device");
  // One is enough for the chain; another one, that it may not accept, would let us pay for nothing.
  if (ofUser.length > 1) refuse("UserSignatureInvalid", "the payload carries more than the session device's signature");
  const valid = await verifyUserSignatureInPool(token.accountKey, payloadMessage(message), first, relyingParties);
  if (!valid) refuse("UserSignatureInvalid", "no signature in the payload is the session device's");
}

/**
 * For an ephemeral token, whose key is not on the account yet: the payload must carry our own server key's valid signature instead, so that what is paid
 * for passed the authorizer's rules.
 */
export function checkServerSignature(message: DecodedMessage, account: Binding, serverKey: PublicKey): void {
  if (message.payloadSignatures.some(({ address }) => address !== account.address)) {
    refuse("UserSignatureInvalid", "the payload carries a signature of somebody else");
  }
  const ours = message.payloadSignatures.find(({ keyId }) => keyId === account.serverKeyIndex);
  if (!ours) refuse("UserSignatureMissing", "the payload carries no signature of the server key");
  const valid =
    ours !== undefined &&
    ours.extensionData === undefined &&
    verifySignature(serverKey, payloadMessage(message), hexToBytes(ours.signature), "sha3-256");
  if (!valid) refuse("UserSignatureInvalid", "the server key's signature is not valid");
}

/**
 * Returns the key that approves what an ephemeral token asks for: beside the server key's, the payload must
 * carry exactly one signature, a valid one of a key in `approvers`. The chain would not take another one, and
 * we would pay for nothing. Errors: SigningRefused (UserSignatureMissing, UserSignatureInvalid).
 */
export async function checkApproverSignature(
  message: DecodedMessage,
  account: Binding,
  approvers: readonly PublicKey[],
  relyingParties: readonly RelyingParty[],
): Promise<PublicKey> {
  const [first, ...more] = message.payloadSignatures.filter(({ keyId }) => !isServerKeyIndex(account, keyId));
  if (!first) return refuse("UserSignatureMissing", "the payload carries no signature of a device of the account");
  if (more.length > 0) refuse("UserSignatureInvalid", "the payload carries more than one device's signature");
  const payload = payloadMessage(message);
  for (const key of approvers) {
    if (await verifyUserSignatureInPool(key, payload, first, relyingParties)) return key;
  }
  return refuse("UserSignatureInvalid", "no key that may approve has signed the payload");
}
