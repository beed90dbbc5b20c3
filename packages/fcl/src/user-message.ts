import { type CountersignClient, signMessageWith } from "@countersign/client";
import { encodeRlp } from "@countersign/flow";
import { hexToBytes, isHex } from "@countersign/keys";
import type { CompositeSignature, FclWallet } from "./wallet.ts";

/** Returns a domain tag of Flow: its text in 32 bytes, with zeros at the end. */
function tag(text: string): Uint8Array {
  const bytes = new Uint8Array(32);
  bytes.set(new TextEncoder().encode(text));
  return bytes;
}

/**
 * The 32 bytes before a signed user message. No transaction and no challenge begins with them.
 * @example const isUserMessage = USER_MESSAGE_TAG.every((byte, index) => message[index] === byte);
 */
export const USER_MESSAGE_TAG: Uint8Array = tag("FLOW-V0.0-user");
const ACCOUNT_PROOF_TAG = tag("FCL-ACCOUNT-PROOF-V0.0");

function withTag(domain: Uint8Array, message: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(domain.length + message.length);
  bytes.set(domain);
  bytes.set(message, domain.length);
  return bytes;
}

/** The statement of an account proof. */
export interface AccountProof {
  /** The app: its origin, or the name that its backend expects. */
  appIdentifier: string;
  /** With or without 0x. */
  address: string;
  /** At least 32 bytes in hex, from the app's backend. */
  nonce: string;
}

/**
 * Returns the bytes that an account proof signs: domain tag and RLP, as FCL defines them.
 * @example
 * const nonce = "75f8587e5bd5f9dcc9909d0dae1f0ac5814458b2ae129620502cb936fde7120a";
 * const bytes = accountProofMessage({ appIdentifier: "https://my-app.example", address, nonce });
 */
export function accountProofMessage({ appIdentifier, address, nonce }: AccountProof): Uint8Array {
  if (!isHex(nonce) || nonce.length < 64) throw new TypeError("the nonce of an account proof has at least 32 bytes");
  const item = [new TextEncoder().encode(appIdentifier), hexToBytes(address), hexToBytes(nonce)];
  return encodeRlp(item, ACCOUNT_PROOF_TAG);
}

async function sign(client: CountersignClient, wallet: FclWallet, bytes: Uint8Array): Promise<CompositeSignature[]> {
  const { address, keyId } = await wallet.account();
  const signed = await signMessageWith(client.deviceKey, bytes);
  return [{ f_type: "CompositeSignature", f_vsn: "1.0.0", addr: address, keyId, ...signed }];
}

/**
 * Signs a user message (hex) with this device's key. The key has weight 1: a verifier must compare it with
 * the account's keys, because `fcl.AppUtils.verifyUserSignatures` requires a weight of 999.
 * @example const signatures = await signUserMessage(client, wallet, bytesToHex(message));
 */
export const signUserMessage = (
  client: CountersignClient,
  wallet: FclWallet,
  message: string,
): Promise<CompositeSignature[]> => sign(client, wallet, withTag(USER_MESSAGE_TAG, hexToBytes(message)));

/** Signs an account proof with this device's key. The same holds for its weight. */
export const signAccountProof = (
  client: CountersignClient,
  wallet: FclWallet,
  proof: AccountProof,
): Promise<CompositeSignature[]> => sign(client, wallet, accountProofMessage(proof));
