// Stores a text in the account's storage: the device's key and the server's key sign the payload, the
// paymaster signs the envelope over both, and the client submits. docs/api.md calls it, in the root of the
// checkout, with the account's address and the device's public key; ACCESS is the access token.
import { sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { cadenceString, createAccessApi, encodeCadence, envelopeMessage, payloadMessage } from "@countersign/flow";

const [address, publicKey] = process.argv.slice(2).map((text) => text.replace("0x", ""));
const { gateway, chains } = JSON.parse(readFileSync(".local/stack.json", "utf8"));
const [{ accessNode, paymaster }] = chains;
const access = createAccessApi({ baseUrl: accessNode });
const key = (await access.accountKeys(address)).find((entry) => entry.publicKey === publicKey);
if (!key) throw new Error(`the account ${address} has no key ${publicKey}`);
const tx = {
  script: `transaction(text: String) { prepare(account: auth(LoadValue, SaveValue) &Account) {
    account.storage.load<String>(from: /storage/note); account.storage.save(text, to: /storage/note) } }`,
  arguments: [encodeCadence(cadenceString("by hand"))],
  referenceBlockId: (await access.latestSealedBlock()).id,
  gasLimit: 1000n,
  proposalKey: { address, keyId: key.index, sequenceNumber: key.sequenceNumber },
  payer: paymaster.replace("0x", ""),
  authorizers: [address], // addresses without 0x
};

/** Has the server sign a message. */
async function cosign(path, bytes) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.ACCESS}` };
  const body = JSON.stringify({ message: Buffer.from(bytes).toString("hex") });
  const answer = await (await fetch(`${gateway}/sign/v1/cadence/${path}`, { method: "POST", headers, body })).json();
  if (!answer.signature) throw new Error(JSON.stringify(answer));
  console.log(path, JSON.stringify(answer));
  return { ...answer.signature, address: answer.signature.addr.slice(2) };
}

const message = payloadMessage(tx);
const raw = sign("sha256", message, { key: readFileSync("device.pem"), dsaEncoding: "ieee-p1363" });
const payloadSignatures = [
  { address, keyId: key.index, signature: raw.toString("hex") },
  await cosign("transaction", message),
];
const envelopeSignatures = [await cosign("paymaster", envelopeMessage({ ...tx, payloadSignatures }))];
const id = await access.submit({ ...tx, payloadSignatures, envelopeSignatures });
console.log(id, (await access.waitForSeal(id, { signal: AbortSignal.timeout(30_000) })).status);
