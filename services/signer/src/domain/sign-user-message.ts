import { accountProofMessage, type TransactionSignature, userMessage } from "@countersign/flow";
import { verifyUserSignature } from "@countersign/flow/node";
import type { PasskeySettings } from "@countersign/keys";
import { serverKeyOf } from "../policy/account.ts";
import type { BackendCheck } from "../policy/backends.ts";
import { evaluate } from "../policy/rule.ts";
import { appIdentifierIsAllowed, USER_MESSAGE_RULES } from "../policy/user-message-rules.ts";
import { type Decide, type Permission, requesterOf, type SignedMessage } from "./decide.ts";
import { loadUserMessageFacts, type RequestOrigin, type UserMessageSources } from "./load-facts.ts";

/** The account in whose name is signed, with the signature of the session's account key. */
export interface UserSignature extends RequestOrigin {
  /** 16 hex digits. */
  readonly address: string;
  /** Over the message with its domain tag. */
  readonly signature: Pick<TransactionSignature, "signature" | "extensionData">;
}

export interface SignUserMessageCommand extends UserSignature {
  /** In UTF-8, without the domain tag. */
  readonly text: Uint8Array;
}

export interface SignAccountProofCommand extends UserSignature {
  readonly appIdentifier: string;
  /** Hex. */
  readonly nonce: string;
}

export interface UserMessagePorts extends UserMessageSources {
  readonly decide: Decide;
  readonly checkBackend: BackendCheck;
  readonly passkeys: PasskeySettings;
}

/**
 * Signs a text in the name of the token's own account with the account's server key. Errors: see
 * signer.v1.UserMessages/SignUserMessage.
 *
 * The bytes are made here, under a domain tag of their own: no caller gets a transaction signed this way.
 * `decide` reads the text from them, signs, and records like every signature; see signTransaction. A message
 * uses nothing of a chain, so it leaves no effects and takes nothing from budgets; it counts towards the
 * device's signatures per minute. Changes of keys have time locks, messages have none (ADR 69).
 *
 * Writes: the record. A refusal writes its record or nothing.
 * Crash: before the record, no signature has left; the client asks again.
 * Race: none; the same message may be signed any number of times.
 */
export const signUserMessage =
  (ports: UserMessagePorts) =>
  (command: SignUserMessageCommand): Promise<SignedMessage> => {
    const tagged = userMessage(command.text);
    return ports.decide("user-message", tagged, requesterOf(command), () => permit(ports, command, tagged));
  };

/**
 * Signs, with the account's server key, that the token's own account belongs to the user of an app. See
 * signUserMessage. Errors: see signer.v1.UserMessages/SignAccountProof.
 */
export const signAccountProof =
  (ports: UserMessagePorts) =>
  (command: SignAccountProofCommand): Promise<SignedMessage> => {
    const { token } = command;
    const tagged = accountProofMessage(command);
    return ports.decide("account-proof", tagged, requesterOf(command), async (proof, { policy }) => {
      evaluate([appIdentifierIsAllowed], { proof, token, policy });
      return permit(ports, command, tagged);
    });
  };

/** Permits tagged bytes that the session's own key has signed, for an account that it is a key of. */
async function permit(ports: UserMessagePorts, command: UserSignature, tagged: Uint8Array): Promise<Permission> {
  const { token, caller, signature } = command;
  ports.checkBackend(caller, token);
  const facts = await loadUserMessageFacts(ports, command);
  const relyingParties = ports.passkeys.relyingPartiesOf(token.appId);
  const isSigned = verifyUserSignature(token.accountKey, tagged, signature, relyingParties);
  evaluate(USER_MESSAGE_RULES, { ...facts, isSigned });
  const { account } = facts;
  return { key: serverKeyOf(account), address: account.address, keyId: account.serverKeyIndex };
}
