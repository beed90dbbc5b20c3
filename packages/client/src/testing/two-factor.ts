import { randomBytes } from "node:crypto";
import { addUserKeyPayload, payloadMessage, type TransactionPayload } from "@countersign/flow";
import { bytesToHex, type PublicKey } from "@countersign/keys";
import { matchingCode } from "../matching-code.ts";
import type { Device, TwoFactorAuth } from "../resources.ts";

export const ADDRESS = "01cf0e2f2f715450";
const when = "2026-11-20T10:00:00.000Z";

/** Returns the payload that adds a key to the account at ADDRESS, proposed by its server key. */
export const additionPayload = (userKey: PublicKey, change: Partial<TransactionPayload> = {}): TransactionPayload => ({
  ...addUserKeyPayload(userKey, {
    account: ADDRESS,
    referenceBlockId: "ab".repeat(32),
    proposalKey: { address: ADDRESS, keyId: 0, sequenceNumber: 7n },
    payer: "179b6b1cb6755e31",
  }),
  ...change,
});

export const messageOf = (payload: TransactionPayload): string => bytesToHex(payloadMessage(payload));

/** Returns a code of a device with one key in both roles, also where the runtime has no `crypto`. */
export const codeOf = (key: PublicKey): string => matchingCode({ accountKey: key, deviceKey: key }, randomBytes);

/** Returns a pending request of a device for one key in both roles, or for another identity key. */
export function askedBy(
  accountKey: PublicKey,
  change: { message?: string; device?: Partial<Device> } = {},
): TwoFactorAuth {
  const srcDevice: Device = {
    id: "0197a1b2-0000-7000-8000-000000000002",
    publicKey: accountKey.publicKey,
    algorithm: accountKey.algorithm,
    sdkVersion: "",
    pushToken: "",
    name: "Ada's new phone",
    osName: "iOS",
    osVersion: "18.1",
    deviceManufacturer: "Apple",
    deviceModel: "iPhone 15",
    lang: "en",
    type: "mobile",
    createdAt: when,
    lastUsedAt: when,
    ...change.device,
  };
  return {
    id: "0197a1b2-0000-7000-8000-000000000003",
    accountId: "0197a1b2-0000-7000-8000-000000000001",
    request: {
      id: "d9428888-122b-4f5e-8a70-000000000004",
      app: { appId: "demo", appName: "Demo wallet" },
      userOpInfo: { type: "sign-in", signIn: { email: "ada@example.com", ip: "192.0.2.7", location: "Paris" } },
      srcDevice,
      destDevice: null,
      message: change.message ?? messageOf(additionPayload(accountKey)),
      requestedAt: when,
    },
    status: "pending",
    extra: null,
    result: { txId: "" },
    expiresAt: when,
  };
}
