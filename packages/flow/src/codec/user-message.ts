import { bytesToHex, decodeUtf8, hexToBytes } from "@countersign/keys";
import { InvalidMessageError } from "./decode-message.ts";
import { concatBytes, decodeRlp, encodeRlp, RlpError, type RlpItem } from "./rlp.ts";
import { domainTag } from "./transaction.ts";

/**
 * The 32 bytes before a signed user message. No transaction and no challenge begins with them.
 * @example const isUserMessage = USER_MESSAGE_TAG.every((byte, index) => message[index] === byte);
 */
export const USER_MESSAGE_TAG: Uint8Array = domainTag("FLOW-V0.0-user");
/** The 32 bytes before a signed account proof. */
export const ACCOUNT_PROOF_TAG: Uint8Array = domainTag("FCL-ACCOUNT-PROOF-V0.0");

/** A person reads the whole text before signing it. */
const MAX_USER_MESSAGE_BYTES = 4_096;
const MAX_APP_IDENTIFIER_BYTES = 256;
const MIN_NONCE_BYTES = 32;
const MAX_NONCE_BYTES = 128;

/** Bytes of a hash of Ethereum. */
const DIGEST_BYTES = 32;
/**
 * Characters that cannot be seen, that change the order in which a text is shown, or that no font knows, for
 * a class of a regular expression with the flag u: control, format, private and unassigned characters, other
 * line ends, characters that are ignored by default (variation selectors, tags, fillers), and the blanks that
 * are letters or symbols to Unicode (of Braille, hieroglyphs, Khitan script and musical notation).
 * @example const isHidden = (text: string) => new RegExp(`[${HIDDEN_CHARACTERS}]`, "u").test(text);
 */
export const HIDDEN_CHARACTERS: string = String.raw`\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{16fe4}\u{1d159}`;
const HIDDEN = new RegExp(`[${HIDDEN_CHARACTERS}]`, "u");
/** Allowed in a message: line ends and tabs, and the two characters that make one emoji of several. */
const LAYOUT =
  /\r?\n|\t|(?<=\p{Extended_Pictographic})\ufe0f|(?<=\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?)\u200d(?=\p{Extended_Pictographic})/gu;

/** The statement of an account proof: the person who uses the app owns this address. */
export interface AccountProof {
  /** The app: its origin, or the name that its backend expects. */
  readonly appIdentifier: string;
  /** 16 hex digits; `0x` is accepted on input. */
  readonly address: string;
  /** From the app's backend: 32 to 128 bytes in hex. */
  readonly nonce: string;
}

/**
 * Returns the bytes that are signed for a user message, a text in UTF-8: `readUserMessage` checks them.
 * @example const bytes = userMessage(new TextEncoder().encode("I agree"));
 */
export const userMessage = (text: Uint8Array): Uint8Array => concatBytes(USER_MESSAGE_TAG, text);

/**
 * Returns the bytes that are signed for an account proof, domain tag and RLP, as FCL defines them:
 * `readAccountProof` checks them.
 * @example
 * const proof = { appIdentifier: "https://my-app.example", address, nonce: "75".repeat(32) };
 * const bytes = accountProofMessage(proof);
 */
export const accountProofMessage = ({ appIdentifier, address, nonce }: AccountProof): Uint8Array =>
  encodeRlp([new TextEncoder().encode(appIdentifier), hexToBytes(address), hexToBytes(nonce)], ACCOUNT_PROOF_TAG);

/**
 * Returns the text of a user message (tag and text) that may be signed. Throws InvalidMessageError for all
 * that a person could not read, and for a text of exactly 32 bytes: the account's EVM address accepts a user
 * message of 32 bytes as its signature over that hash (ERC-1271), and somebody could search for an order or a
 * permit whose hash is a text.
 * @example
 * readUserMessage(userMessage(new TextEncoder().encode("I agree"))); // => "I agree"
 */
export function readUserMessage(bytes: Uint8Array): string {
  const content = withoutTag(bytes, USER_MESSAGE_TAG);
  const text = readableText(content, "the message", MAX_USER_MESSAGE_BYTES, LAYOUT);
  if (content.length === DIGEST_BYTES) {
    throw new InvalidMessageError("the message has 32 bytes, like a hash that EVM contracts accept: add a character");
  }
  return text;
}

/**
 * Returns the statement of an account proof (tag and RLP) that may be signed. Throws InvalidMessageError.
 * @example
 * const proof = { appIdentifier: "https://my-app.example", address, nonce: "75".repeat(32) };
 * readAccountProof(accountProofMessage(proof)); // => proof
 */
export function readAccountProof(bytes: Uint8Array): AccountProof {
  const fields = rlpOf(withoutTag(bytes, ACCOUNT_PROOF_TAG));
  if (!Array.isArray(fields) || fields.length !== 3) throw new InvalidMessageError("an account proof has three fields");
  const [app, address, nonce] = fields.map((field: RlpItem) => {
    if (field instanceof Uint8Array) return field;
    throw new InvalidMessageError("a field of the account proof is a list");
  }) as [Uint8Array, Uint8Array, Uint8Array];
  const appIdentifier = readableText(app, "the app identifier", MAX_APP_IDENTIFIER_BYTES);
  if (address.length !== 8) throw new InvalidMessageError("the address has not 8 bytes");
  if (nonce.length < MIN_NONCE_BYTES || nonce.length > MAX_NONCE_BYTES) {
    throw new InvalidMessageError(`the nonce has not ${MIN_NONCE_BYTES} to ${MAX_NONCE_BYTES} bytes`);
  }
  return { appIdentifier, address: bytesToHex(address), nonce: bytesToHex(nonce) };
}

function withoutTag(bytes: Uint8Array, tag: Uint8Array): Uint8Array {
  if (!tag.every((byte, index) => bytes[index] === byte)) throw new InvalidMessageError("another domain tag");
  return bytes.subarray(tag.length);
}

/** Returns the text of bytes that a person can read as it is, with these characters besides. */
function readableText(bytes: Uint8Array, name: string, maxBytes: number, besides?: RegExp): string {
  if (bytes.length === 0 || bytes.length > maxBytes) {
    throw new InvalidMessageError(`${name} must have 1 to ${maxBytes} bytes, and has ${bytes.length}`);
  }
  let text: string;
  try {
    text = decodeUtf8(bytes);
  } catch {
    throw new InvalidMessageError(`${name} is no text in UTF-8`);
  }
  const shown = besides ? text.replace(besides, "") : text;
  if (HIDDEN.test(shown)) throw new InvalidMessageError(`${name} has hidden characters`);
  return text;
}

function rlpOf(bytes: Uint8Array): RlpItem {
  try {
    return decodeRlp(bytes);
  } catch (error) {
    if (error instanceof RlpError) throw new InvalidMessageError(error.message);
    throw error;
  }
}
