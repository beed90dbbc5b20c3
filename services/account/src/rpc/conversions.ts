import { AppError, invalidField, isUuid } from "@countersign/core";
import { AccessApiError } from "@countersign/flow";
import { bytesToHex, parseSignature, SignatureError } from "@countersign/keys";
import type { PublicKey as ProtoPublicKey } from "@countersign/proto/common/v1/types.ts";
import { validPublicKeyFromProto } from "@countersign/rpc";
import type { KeyAdditionTarget } from "../domain/key-additions/key-addition.ts";
import type { ApproverSignature } from "../domain/key-additions/submit-key-addition.ts";

/** Reads account, chain and key of a request. Errors: InvalidRequest, InvalidPublicKey. */
export function targetFrom(request: {
  accountId: string;
  chainName: string;
  userKey: ProtoPublicKey | undefined;
}): KeyAdditionTarget {
  return {
    accountId: uuidFrom(request.accountId, "/accountId"),
    chainName: request.chainName,
    userKey: validPublicKeyFromProto(request.userKey, "/userKey"),
  };
}

export function uuidFrom(value: string, pointer: string): string {
  if (!isUuid(value)) throw invalidField(pointer, "not a UUID");
  return value;
}

/** Errors: InvalidRequest where it is none; clients name it `txId`. */
export function transactionIdFrom(value: string): string {
  if (!/^[0-9a-f]{64}$/.test(value)) throw invalidField("/txId", "not a transaction id");
  return value;
}

/** The signer reads no longer extension data of a passkey. */
const MAX_EXTENSION_BYTES = 4096;

/** Reads a user's signature in its form on chain. Errors: InvalidSignature. */
export function signatureFrom(request: { signature: Uint8Array; extensionData: Uint8Array }): ApproverSignature {
  const { signature, extensionData } = request;
  if (extensionData.length > MAX_EXTENSION_BYTES) throw new AppError("InvalidSignature");
  try {
    return {
      signature: bytesToHex(parseSignature(signature)),
      ...(extensionData.length > 0 && { extensionData: bytesToHex(extensionData) }),
    };
  } catch (error) {
    if (error instanceof SignatureError) throw new AppError("InvalidSignature");
    throw error;
  }
}

/** Reports a chain that did not answer. Errors: ChainUnavailable, and those of `work`. */
export async function fromChain<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof AccessApiError ? new AppError("ChainUnavailable", { cause: error }) : error;
  }
}
