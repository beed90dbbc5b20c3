import {
  type AccountProof,
  accountProofMessage,
  readAccountProof,
  readUserMessage,
  userMessage,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { cadenceAddress } from "./chain-account.ts";
import type { Account, CompositeSignature, Key, UserKey } from "./resources.ts";
import { isPasskey, signMessageWith } from "./user-key.ts";

/** A text that a person signs, as data: an app shows it in its own language. */
export interface UserMessageDescription {
  /** Neither a transaction nor an account proof. */
  kind: "user-message";
  /** The whole text. It has no hidden characters. */
  message: string;
  /** The account in whose name it is signed: `0x` and 16 hex digits. */
  address: string;
  /** The chain, by its configured name. */
  chainName: string;
  /** All of it in plain English. */
  text: string;
}

/** The account proof that a person signs, as data: an app shows it in its own language. */
export interface AccountProofDescription {
  /** Neither a transaction nor a user message. */
  kind: "account-proof";
  /** The app that gets the proof: compare it with the app that asks for it. */
  appIdentifier: string;
  /** The account: `0x` and 16 hex digits. */
  address: string;
  /** Of the app's backend, in hex. */
  nonce: string;
  /** The chain, by its configured name. */
  chainName: string;
  /** All of it in plain English. */
  text: string;
}

/** Options of `signUserMessage` and `signAccountProof`. */
export interface SignUserMessageOptions<Description = UserMessageDescription | AccountProofDescription> {
  /** The chain of the account, by its configured name. */
  chainName: string;
  /** Called with the content before this device's key signs: an app's own dialog. A rejection ends it. */
  confirm?: ((description: Description) => void | Promise<void>) | undefined;
  /** The account's address, and the index of this device's key on it; default: as the service lists them. */
  account?: { address: string; keyId: number };
}

/**
 * Describes a text that is to be signed in the name of an account. Throws InvalidMessageError for a text that
 * the service does not sign: one with hidden characters, of more than 4096 bytes, or of exactly 32.
 * @example
 * const { text } = describeUserMessage("I agree", { address, chainName: "flow-testnet" });
 */
export function describeUserMessage(
  message: string,
  { address, chainName }: Pick<UserMessageDescription, "address" | "chainName">,
): UserMessageDescription {
  const text = readUserMessage(userMessage(new TextEncoder().encode(message)));
  return {
    kind: "user-message",
    message: text,
    address,
    chainName,
    text: `Signs a text in the name of your account ${address} on ${chainName}; it moves nothing. The text: ${text}`,
  };
}

/**
 * Describes an account proof that is to be signed. Throws InvalidMessageError for one that the service does
 * not sign.
 * @example
 * const proof = { appIdentifier: "https://my-app.example", address, nonce: "75".repeat(32) };
 * const { text } = describeAccountProof(proof, "flow-testnet");
 */
export function describeAccountProof(proof: AccountProof, chainName: string): AccountProofDescription {
  const { appIdentifier, address: plain, nonce } = readAccountProof(accountProofMessage(proof));
  const address = `0x${plain}`;
  const text = `Proves to ${appIdentifier} that the account ${address} on ${chainName} is yours, and signs you in there.`;
  return { kind: "account-proof", appIdentifier, address, nonce, chainName, text };
}

/** An account on a chain, with the index of this device's key on it. */
type SigningAccount = Required<SignUserMessageOptions>["account"];

/** The part of a client that is needed. */
interface SignedInClient {
  readonly deviceKey: UserKey;
  me(): Promise<Account>;
  keys(): Promise<Key[]>;
}

/** Returns the account as the service lists it. */
async function accountOf(client: SignedInClient, chainName: string): Promise<SigningAccount> {
  const [address, keys] = await Promise.all([cadenceAddress(client, chainName), client.keys()]);
  const isOwn = (key: Key) => key.chainName === chainName && key.publicKey === client.deviceKey.publicKey;
  const own = keys.find(isOwn);
  if (!own) throw new Error("this device's key is not on the account");
  return { address, keyId: own.keyIndex };
}

/** The content to sign, and the body of the request without the user's signature over it. */
interface Statement<Description> {
  description: Description;
  /** Domain tag and content. */
  message: Uint8Array;
  body: object;
}

/** Sends a statement with the user's signature; returns the server key's. */
export type SendStatement = (body: object) => Promise<CompositeSignature>;

/** Signs a text with this device's key and has the service sign it. See SigningOperations.signUserMessage. */
export const signUserMessage = (
  client: SignedInClient,
  text: string,
  options: SignUserMessageOptions<UserMessageDescription>,
  send: SendStatement,
): Promise<CompositeSignature[]> =>
  signStatement(client, options, send, ({ address }) => {
    const description = describeUserMessage(text, { address, chainName: options.chainName });
    const bytes = new TextEncoder().encode(text);
    return { description, message: userMessage(bytes), body: { message: bytesToHex(bytes) } };
  });

/** Signs an account proof in the same way. See SigningOperations.signAccountProof. */
export const signAccountProof = (
  client: SignedInClient,
  { appIdentifier, nonce }: Pick<AccountProof, "appIdentifier" | "nonce">,
  options: SignUserMessageOptions<AccountProofDescription>,
  send: SendStatement,
): Promise<CompositeSignature[]> =>
  signStatement(client, options, send, ({ address }) => {
    const proof = { appIdentifier, address, nonce };
    const description = describeAccountProof(proof, options.chainName);
    return { description, message: accountProofMessage(proof), body: { appIdentifier, nonce } };
  });

async function signStatement<Description>(
  client: SignedInClient,
  { chainName, confirm, account: given }: SignUserMessageOptions<Description>,
  send: SendStatement,
  statementOf: (account: SigningAccount) => Statement<Description>,
): Promise<CompositeSignature[]> {
  const account = given ?? (await accountOf(client, chainName));
  const { address, keyId } = account;
  const { description, message, body } = statementOf(account);
  await confirm?.(description);
  const device = await signMessageWith(client.deviceKey, message);
  const server = await send({ ...body, ...device, address, chainName });
  // No contract verifies a passkey's signature: the server key's weight suffices for FCL.
  if (isPasskey(client.deviceKey)) return [server];
  return [{ addr: server.addr, keyId, signature: device.signature }, server];
}
