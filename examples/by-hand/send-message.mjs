// Prints what a prepared message does, signs it, has it co-signed and paid, and submits it, using only Node.
// docs/api.md calls it, in the root of the checkout, with the message, the index of the device's key and the
// network's access node; ACCESS is the access token.
import { sign } from "node:crypto";
import { readFileSync } from "node:fs";

const [message, deviceKeyId, accessNode] = process.argv.slice(2);
if (!accessNode) throw new Error("give the message, the index of the device's key and the access node");
const { gateway } = JSON.parse(readFileSync(".local/stack.json", "utf8"));
const bytes = Buffer.from(message, "hex");
const number = (item) => Number(`0x0${item.toString("hex")}`);
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Returns the RLP item at an offset, and where it ends. */
function decode(at) {
  const first = bytes[at];
  if (first < 0x80) return [bytes.subarray(at, at + 1), at + 1];
  const isList = first >= 0xc0;
  const short = first - (isList ? 0xc0 : 0x80);
  const sizeBytes = Math.max(0, short - 55);
  const start = at + 1 + sizeBytes;
  const end = start + (sizeBytes ? number(bytes.subarray(at + 1, start)) : short);
  if (!isList) return [bytes.subarray(start, end), end];
  const items = [];
  for (let item, next = start; next < end; items.push(item)) [item, next] = decode(next);
  return [items, end];
}

// RLP's encodings of an integer, a text and a list.
const integer = (value) => Buffer.from(value === 0 ? "" : value.toString(16).padStart(value > 255 ? 4 : 2, "0"), "hex");
const head = (base, length) =>
  length < 56
    ? Buffer.from([base + length])
    : Buffer.concat([Buffer.from([base + 55 + integer(length).length]), integer(length)]);
const text = (item) => (item.length === 1 && item[0] < 0x80 ? item : Buffer.concat([head(0x80, item.length), item]));
const list = (items) => Buffer.concat([head(0xc0, Buffer.concat(items).length), ...items]);

const [[script, args, block, gas, proposer, keyId, sequence, payer, authorizers]] = decode(32);
console.log(script.toString().split("\n")[0], args.map(String), "payer", payer.toString("hex"));

/** Has the server sign a message; waits for a time lock. */
async function cosign(path, signed) {
  const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.ACCESS}` };
  const body = JSON.stringify({ message: signed.toString("hex") });
  const answer = await fetch(`${gateway}/sign/v1/cadence/${path}`, { method: "POST", headers, body });
  const { signature, ...problem } = await answer.json();
  if (signature) return signature;
  if (problem.error !== "TimeLockRequired") throw new Error(JSON.stringify(problem));
  console.log("time lock until", problem.availableAt);
  await sleep(1000 * Number(answer.headers.get("retry-after")));
  return cosign(path, signed);
}

const raw = sign("sha256", bytes, { key: readFileSync("device.pem"), dsaEncoding: "ieee-p1363" }).toString("hex");
const addr = `0x${proposer.toString("hex")}`;
const payloadSignatures = [await cosign("transaction", bytes), { addr, keyId: Number(deviceKeyId), signature: raw }];
payloadSignatures.sort((a, b) => a.keyId - b.keyId); // the account is signer 0; its lower key comes first
const signed = payloadSignatures.map((each) =>
  list([integer(0), integer(each.keyId), Buffer.from(each.signature, "hex")].map(text)),
);
const envelope = Buffer.concat([bytes.subarray(0, 32), list([bytes.subarray(32), list(signed)])]);
const paid = await cosign("paymaster", envelope);

// The transaction as the Access API reads it.
const base64 = (item) => item.toString("base64");
const address = (item) => `0x${item.toString("hex")}`;
const toWire = ({ addr: of, keyId: index, signature }) => ({
  address: of,
  key_index: `${index}`,
  signature: Buffer.from(signature, "hex").toString("base64"),
});
const transaction = {
  script: base64(script),
  arguments: args.map(base64),
  reference_block_id: block.toString("hex"),
  gas_limit: `${number(gas)}`,
  payer: address(payer),
  authorizers: authorizers.map(address),
  proposal_key: { address: addr, key_index: `${number(keyId)}`, sequence_number: `${number(sequence)}` },
  payload_signatures: payloadSignatures.map(toWire),
  envelope_signatures: [toWire(paid)],
};
const headers = { "content-type": "application/json" };
const body = JSON.stringify(transaction);
const submitted = await (await fetch(`${accessNode}/v1/transactions`, { method: "POST", headers, body })).json();
const { id } = submitted;
if (!id) throw new Error(JSON.stringify(submitted));
const signal = AbortSignal.timeout(30_000);
for (let result = {}; result.status !== "Sealed"; await sleep(500)) {
  result = await (await fetch(`${accessNode}/v1/transaction_results/${id}`, { signal })).json();
  if (result.status === "Sealed") console.log(id, result.status, result.error_message);
}
