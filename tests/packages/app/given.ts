// The values that examples in docstrings take as given.
import { createHash, randomBytes, sign } from "node:crypto";
import { generateDeviceKey } from "@countersign/client/node";
import { encodeCadence, type FlowTransaction } from "@countersign/flow";
import { type Assertion, bytesToBase64url, type PublicKey, type RelyingParty } from "@countersign/keys";
import { generateKeyPair } from "@countersign/keys/node";

export const address = "01cf0e2f2f715450";
export const email = "ada@example.com";
export const baseUrl = "http://localhost:8080";
export const message: Uint8Array = randomBytes(100);
export const deviceKey = generateDeviceKey();
export const newKey: PublicKey = generateDeviceKey();
export const recoveryKey = generateDeviceKey();
export const accounts = [{ serverKey: generateDeviceKey() as PublicKey, userKey: deviceKey as PublicKey }];
export const cadence = "transaction(text: String) { prepare(account: &Account) {} }";
export const args = [{ type: "String" as const, value: "hello" }];

export const transaction: FlowTransaction = {
  script: cadence,
  arguments: args.map(encodeCadence),
  referenceBlockId: "ab".repeat(32),
  gasLimit: 999n,
  proposalKey: { address, keyId: 1, sequenceNumber: 7n },
  payer: "f8d6e0586b0a20c7",
  authorizers: [address],
  payloadSignatures: [],
  envelopeSignatures: [],
};

export const hybridCustody = {
  contract: "d8a7e05a7ac670c0",
  viewResolver: "1d7e57aa55817448",
  factory: address,
  filter: address,
};

/** A passkey's answer to `challenge`. */
export const challenge: Uint8Array = randomBytes(16);
export const relyingParties: readonly RelyingParty[] = [
  { rpId: "wallet.example.com", origins: ["https://wallet.example.com"] },
];
const passkey = generateKeyPair();
export const { publicKey } = passkey;
const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest();
const authenticatorData = Buffer.concat([sha256("wallet.example.com"), Buffer.of(0x05, 0, 0, 0, 1)]);
const clientDataJSON = Buffer.from(
  JSON.stringify({
    type: "webauthn.get",
    challenge: bytesToBase64url(challenge),
    origin: "https://wallet.example.com",
    crossOrigin: false,
  }),
);
const signed = Buffer.concat([authenticatorData, sha256(clientDataJSON)]);
const signature = sign("sha256", signed, { key: passkey.privateKey, dsaEncoding: "der" });
export const assertion: Assertion = { clientDataJSON, authenticatorData, signature };
