import type { Device as WireDevice } from "@countersign/proto/common/v1/types.ts";
import { type CallContext, publicKeyToProto, requireToken } from "@countersign/rpc";
import { z } from "zod";
import type { Device, Session } from "../domain/devices/device.ts";

/** The identity key in a request that names a device: its canonical bytes, as hex. */
export const identityKey = z
  .instanceof(Uint8Array)
  .refine(({ length }) => length === 64 || length === 32, "is not a public key in canonical form")
  .transform((bytes) => Buffer.from(bytes).toString("hex"));

/** Returns the caller's session. Errors: Unauthenticated. */
export function sessionOf(call: CallContext): Session {
  const { accountId, deviceKey } = requireToken(call);
  return { accountId, deviceKey };
}

export function toWireDevice({ id, accountId, publicKey: key, attributes, createdAt, lastUsedAt }: Device): WireDevice {
  return { id, accountId, publicKey: publicKeyToProto(key), attributes, createdAt, lastUsedAt };
}
