import { createHash } from "node:crypto";
import { createAccessApi } from "@countersign/flow";
import { beforeAll, expect } from "vitest";
import { chain } from "../support/person.ts";
import { expectProblem, send } from "../support/raw-request.ts";
import { newVictim, type Victim } from "./attacker.ts";
import { bytes, type Fields, type Item, integer, payload, tagged } from "./messages.ts";
import { mintAccessToken, query } from "./token-forge.ts";

export let victim: Victim;
export let otherPerson: Victim;
export let token: string;
export let block: string;
beforeAll(async () => {
  [victim, otherPerson] = await Promise.all([newVictim(), newVictim()]);
  token = await mintAccessToken(victim);
  block = (await createAccessApi({ baseUrl: chain.accessNode }).latestSealedBlock()).id;
});

type Operation = "transaction" | "paymaster";
export const ask = (operation: Operation, message: Uint8Array, more: Record<string, unknown> = {}, bearer = token) =>
  send({
    method: "POST",
    path: `/sign/v1/cadence/${operation}`,
    token: bearer,
    body: { message: Buffer.from(message).toString("hex"), ...more },
  });

export const signedRecords = (message: Uint8Array) =>
  query("signer", "SELECT verdict FROM audit_record WHERE message_hash = $1 AND verdict = 'signed'", [
    createHash("sha256").update(message).digest("hex"),
  ]);

/** Expects that an operation refuses a message with this error or reason and has not signed it. */
export async function refused(operation: Operation, message: Uint8Array, expected: string[]): Promise<void> {
  const answer = await ask(operation, message);
  expectProblem(answer, [400, 403, 413], ["InvalidMessage", "SigningRefused", "PayloadTooLarge"]);
  expect(expected, answer.text).toContain(answer.body.reason ?? answer.body.error);
  expect(answer.body.signature).toBeUndefined();
  expect(await signedRecords(message)).toEqual([]);
}

export const fields = (change: Partial<Fields> = {}) => payload(victim.address, block, change);
export const own = () => bytes(victim.address);
/** Signs a payload with a phone's key: `[signer index, key index, signature]`. */
export async function signature(
  items: Item[],
  { by = victim.deviceKey, index = 0, key = 1 }: { by?: Victim["deviceKey"]; index?: number; key?: number } = {},
): Promise<Item[]> {
  return [integer(index), integer(key), await by.sign(tagged(items))];
}

/** Returns an envelope with the victim's valid signature, or with other signatures. */
export async function envelope(
  change: Partial<Fields> = {},
  signatures?: (items: Item[]) => Promise<Item>,
): Promise<Buffer> {
  const items = fields(change);
  return tagged([items, signatures ? await signatures(items) : [await signature(items)]]);
}
