// Runs in Node, in browsers and on phones: makes a key, signs a transaction's message with it, checks the
// signature, and signs in at the server of the test. Returns what the test compares.
import { CountersignClient, ProblemError } from "@countersign/client";
import { cadenceString, decodeMessage, encodeCadence, payloadMessage } from "@countersign/flow";
import { bytesToHex, parsePublicKey } from "@countersign/keys";

const ECDSA = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const ACCOUNT = "f8d6e0586b0a20c7";

export async function signIn(baseUrl) {
  const pair = await crypto.subtle.generateKey(ECDSA, false, ["sign", "verify"]);
  const point = new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey));
  const key = parsePublicKey(bytesToHex(point), "ES256");
  const sign = async (message) => new Uint8Array(await crypto.subtle.sign(ECDSA, pair.privateKey, message));

  const message = payloadMessage({
    script: "transaction(text: String) { prepare(account: &Account) {} }",
    arguments: [encodeCadence(cadenceString("hello"))],
    referenceBlockId: "ab".repeat(32),
    gasLimit: 1000n,
    proposalKey: { address: ACCOUNT, keyId: 1, sequenceNumber: 7n },
    payer: ACCOUNT,
    authorizers: [ACCOUNT],
  });
  const verified = await crypto.subtle.verify(ECDSA, pair.publicKey, await sign(message), message);
  const decoded = decodeMessage(message).proposalKey.sequenceNumber;

  const client = new CountersignClient({ baseUrl, deviceKey: { ...key, sign } });
  const signedIn = await client.signIn({ chainName: "flow-emulator" });
  const refused = await client.requestChallenge({ chainName: "no-such-chain" }).catch((error) => error);
  return {
    publicKey: key.publicKey,
    verified,
    sequenceNumber: String(decoded),
    account: signedIn.account.id,
    refused: refused instanceof ProblemError ? refused.error : String(refused),
  };
}
