import type { VerifiedToken } from "@countersign/core";
import { addUserKeyPayload, envelopeMessage, payloadMessage, type TransactionPayload } from "@countersign/flow";
import { bytesToHex, type PublicKey } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";
import { account, asked, byDevice, policy, state, transaction, tx } from "./policy-fixture.ts";

export const newDevice = generateKeyPair();
const requestId = "01900000-0000-7000-8000-0000000000f1";
/** The token of a device that is being enrolled. */
export const ephemeral: Partial<VerifiedToken> = {
  scope: "sign",
  sessionId: requestId,
  deviceKey: newDevice.publicKey,
  accountKey: newDevice.publicKey,
};

export const addition = (userKey: PublicKey = newDevice.publicKey, change: Partial<TransactionPayload> = {}) => ({
  ...tx(),
  ...addUserKeyPayload(userKey, {
    account: account.address,
    referenceBlockId: "ab".repeat(32),
    proposalKey: { address: account.address, keyId: 0, sequenceNumber: 3n },
    payer: policy.paymaster.address,
  }),
  ...change,
});

/** Returns the addition as it comes to the paymaster: signed by the server key and the approving device. */
export async function paid(payload = addition(), by = "vault") {
  const { signature } = await transaction(asked(payloadMessage(payload)));
  state.records = [];
  const bytes = by === "vault" ? signature : Buffer.from(signature).reverse();
  const signatures = [{ address: account.address, keyId: 0, signature: bytesToHex(bytes) }];
  const [approved] = byDevice(payload).payloadSignatures;
  return envelopeMessage({ ...payload, payloadSignatures: [...signatures, approved!] });
}
