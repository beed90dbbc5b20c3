// A program of Node that uses the entry points of Node.
import { type DeviceKeyJwk, deviceKeyFromJwk, generateDeviceKey, type NodeDeviceKey } from "@countersign/client/node";
import { withPayloadSignature } from "@countersign/flow/node";
import { type KeyPair, verifySignature } from "@countersign/keys/node";
import * as testing from "@countersign/testing";

const jwk: DeviceKeyJwk = generateDeviceKey().toJwk();
export const { TestClock } = testing;
export const key: NodeDeviceKey = deviceKeyFromJwk(jwk);
export const sign = ({ publicKey }: KeyPair, message: Uint8Array, signature: Uint8Array): boolean =>
  verifySignature(publicKey, message, signature);
export { withPayloadSignature };
