import { type PublicKey, samePublicKey } from "@countersign/keys";
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

/**
 * Returns a device as the device with the identity key `viewer` sees it; absent: as no device does. A push
 * token is for its own device and the push service: another reader could have pushes of its own account sent
 * to it.
 */
export function toWireDevice(
  { id, accountId, publicKey: key, attributes, createdAt, lastUsedAt }: Device,
  viewer?: PublicKey,
): WireDevice {
  const isOwn = viewer !== undefined && samePublicKey(key, viewer);
  const shown = isOwn ? attributes : { ...attributes, pushToken: "" };
  return { id, accountId, publicKey: publicKeyToProto(key), attributes: shown, createdAt, lastUsedAt };
}
