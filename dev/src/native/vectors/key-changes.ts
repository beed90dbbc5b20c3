import { readKeyAddition } from "@countersign/client";
import {
  describeTemplates,
  encodeCadence,
  envelopeMessage,
  type KeyChange,
  keyChangeArguments,
} from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import { ADDRESS, device, other, STRANGE } from "./test-keys.ts";
import { addition, greeting, hexMessage } from "./transactions.ts";

/** Messages that add no user key, or do more than that. */
function refusedAdditions(): { message: string; why: string }[] {
  const [bytes, curve] = addition(other).arguments as [string, string];
  const kelvin = addition(other).script.replaceAll("K", "\u212a");
  const args = (...given: string[]) => hexMessage(addition(other, { arguments: given }));
  const envelope = { ...addition(other), payloadSignatures: [] };
  return [
    { message: "zz", why: "not hex" },
    { message: hexMessage(greeting), why: "another script" },
    { message: hexMessage(addition(other, { script: `${addition(other).script} ` })), why: "a space after the script" },
    // Canonically equivalent texts, which Swift's == takes for the same.
    { message: hexMessage(addition(other, { script: kelvin })), why: "the sign of Kelvin in the place of a K" },
    { message: args(bytes), why: "an argument is missing" },
    { message: args(bytes, curve, curve), why: "one argument more" },
    { message: args(bytes.replace(":", ": "), curve), why: "a space in an argument" },
    { message: args(bytes.toUpperCase(), curve), why: "upper case" },
    { message: args(bytes, '{"type":"Bool","value":1}'), why: "a curve that is no Bool" },
    { message: hexMessage(addition(other, { authorizers: [] })), why: "no authorizer" },
    { message: hexMessage(addition(other, { authorizers: [ADDRESS, STRANGE] })), why: "two authorizers" },
    { message: hexMessage(addition(other, { authorizers: [STRANGE] })), why: "another account proposes" },
    { message: bytesToHex(envelopeMessage(envelope)), why: "an envelope" },
  ];
}

const SERVER_KEY = "11".repeat(64);
const OLD_KEY = "22".repeat(64);
const CHANGES: KeyChange[] = [
  { template: "add-user-key", newKey: device },
  { template: "add-user-key", newKey: other },
  { template: "add-recovery-key", serverKey: SERVER_KEY, newKey: device },
  { template: "replace-recovery-key", serverKey: SERVER_KEY, oldKey: OLD_KEY, newKey: other },
  { template: "revoke-recovery-key", serverKey: SERVER_KEY, oldKey: OLD_KEY },
  { template: "revoke-user-key", oldKey: OLD_KEY },
  { template: "rotate-server-key", oldKey: OLD_KEY, newServerKey: SERVER_KEY },
];

/** Returns the vectors of templates, and of key additions as a device approves them. */
export const keyChangeVectors = () => ({
  templates: describeTemplates(undefined).map(({ name, script, parameters, gasLimit }) => ({
    name,
    script,
    parameters: parameters.map((each) => ({ name: each.name, type: each.type })),
    gasLimit: String(gasLimit),
  })),
  keyChanges: CHANGES.map((change) => ({ change, arguments: keyChangeArguments(change).map(encodeCadence) })),
  keyAdditions: [device, other].map((key) => {
    const message = hexMessage(addition(key));
    const { proposalKey, ...read } = readKeyAddition(message);
    const sequenceNumber = String(proposalKey.sequenceNumber);
    return { message, addition: { ...read, proposalKey: { ...proposalKey, sequenceNumber } } };
  }),
  refusedAdditions: refusedAdditions(),
});
