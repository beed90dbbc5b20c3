import { HIDDEN_CHARACTERS, type ProposalKey, readAddUserKey } from "@countersign/flow";
import type { PublicKey } from "@countersign/keys";
import { isMatchingCode } from "./matching-code.ts";
import { readMessage } from "./read-message.ts";
import type { TwoFactorAuth } from "./resources.ts";

/** The change that a person agrees to by signing the message of a 2FA request. */
export interface KeyAddition {
  /** The account that gets the key: `0x` and 16 hex digits. */
  address: string;
  /** The new key, 128 hex digits. */
  publicKey: string;
  /** The new key's algorithm. */
  algorithm: PublicKey["algorithm"];
  /** Enough together with the server key; alone it can do nothing. */
  weight: 1;
  /** It marks a user key. */
  hashAlgorithm: "SHA2_256";
  /** The account that pays the fees: `0x` and 16 hex digits. */
  payer: string;
  /** The key whose sequence number the transaction consumes; `address` with `0x`. */
  proposalKey: ProposalKey;
}

/**
 * Thrown when the message is not the addition of one user key, so an approver must not sign it.
 * @example
 * const addressOf = (message: string) => {
 *   try {
 *     return readKeyAddition(message).address;
 *   } catch (error) {
 *     if (error instanceof KeyAdditionError) return undefined; // do not sign it
 *     throw error;
 *   }
 * };
 * addressOf("00"); // => undefined
 */
export class KeyAdditionError extends Error {
  override readonly name = "KeyAdditionError";
}

const refuse = (detail: string): never => {
  throw new KeyAdditionError(detail);
};

/**
 * Reads the `message` (hex) of a 2FA request. The result is all that the transaction does: text and arguments
 * are compared byte for byte with the template, and exactly one account, which also proposes, authorizes.
 * Throws KeyAdditionError for any other message.
 * @example
 * const [pending] = await client.pendingTwoFactor();
 * const { address, publicKey } = readKeyAddition(pending!.request.message);
 */
export function readKeyAddition(message: string): KeyAddition {
  const { decoded, change: key } = readMessage(message, readAddUserKey, refuse);
  const [account, ...others] = decoded.authorizers;
  if (decoded.kind !== "payload") throw new KeyAdditionError("the message is no payload");
  if (account === undefined || others.length > 0) throw new KeyAdditionError("not exactly one account authorizes");
  if (decoded.proposalKey.address !== account) throw new KeyAdditionError("another account proposes");
  if (key === undefined) throw new KeyAdditionError("the transaction is not the addition of a key");
  const { algorithm, publicKey } = key;
  return {
    address: `0x${account}`,
    publicKey,
    algorithm,
    weight: 1,
    hashAlgorithm: "SHA2_256",
    payer: `0x${decoded.payer}`,
    proposalKey: { ...decoded.proposalKey, address: `0x${account}` },
  };
}

/** The part of a 2FA request that a person decides on. */
export type ShownTwoFactor = Pick<TwoFactorAuth, "request">;

/**
 * Returns whether a person typed the code of the device that a request enrolls: of the key in its message and
 * the requesting device's identity key. Throws KeyAdditionError where the message is something else.
 * @example
 * const [pending] = await client.pendingTwoFactor();
 * const isSame = isMatchingCodeOf(pending!, typed);
 */
export function isMatchingCodeOf({ request }: ShownTwoFactor, typed: string): boolean {
  const { algorithm, publicKey } = request.srcDevice;
  const accountKey = readKeyAddition(request.message);
  return isMatchingCode(typed, { accountKey, deviceKey: { algorithm, publicKey } });
}

/**
 * Describes in plain words what a person should read before approving: which device asks, what approving
 * does, and what to type. Names that the requesting device gave itself are cut short and cleaned of
 * characters that could disguise them. Throws KeyAdditionError where the message is something else.
 * @example
 * const [pending] = await client.pendingTwoFactor();
 * const typed = prompt(describeKeyAddition(pending!));
 */
export function describeKeyAddition(auth: ShownTwoFactor): string {
  const { app, srcDevice, userOpInfo } = auth.request;
  const { email, ip, location } = userOpInfo.signIn;
  const { address } = readKeyAddition(auth.request.message);
  const model = plainName([srcDevice.deviceManufacturer, srcDevice.deviceModel].join(" "));
  const system = plainName([srcDevice.osName, srcDevice.osVersion].join(" "));
  const details = [model, system].filter((text) => text !== "").join(", ");
  const device = `“${plainName(srcDevice.name) || "A device without a name"}”${details && ` (${details})`}`;
  const origin = plainName(ip) && ` from ${plainName(ip)}${plainName(location) && ` (${plainName(location)})`}`;
  const person = plainName(email) && ` as ${plainName(email)}`;
  return [
    `${device} asks to sign in to ${plainName(app.appName) || "an app"}${person}${origin}.`,
    `If you approve, its key is added to your account ${address} with weight 1, and it can then act for you together with the service, as this device can.`,
    "Approve only if the other device is in front of you, by typing the code that it shows.",
  ].join(" ");
}

const MAX_NAME = 64;
const HIDDEN = new RegExp(`[${HIDDEN_CHARACTERS}\\p{Z}]+`, "gu");

/**
 * Returns a name that another device gave itself as one line of at most 64 characters: without control,
 * invisible and direction-changing ones, which could disguise it, and without curly quotes.
 * @example
 * for (const device of await client.devices()) console.log(plainName(device.name));
 */
export function plainName(text: string): string {
  const plain = text.normalize("NFC").replace(HIDDEN, " ").replace(/[“”]/g, '"').trim();
  const characters = [...plain];
  return characters.length <= MAX_NAME ? plain : `${characters.slice(0, MAX_NAME).join("")}…`;
}
