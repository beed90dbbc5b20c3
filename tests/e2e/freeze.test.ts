import { CountersignClient, signTransaction } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { createAccessApi, type FlowTransaction, type KeyChange } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { keyChangePayload } from "../faults/key-change.ts";
import { chain, chainName, type Person, problemOf, secondPhone, signUpPerson, stack } from "./person.ts";

const access = createAccessApi({ baseUrl: chain.accessNode });
const sequenceOf = async ({ address }: Person) => (await access.accountKey(address, 0)).sequenceNumber;

/** A template with all of its signatures, kept instead of sent; `after`: how many numbers later it could run. */
async function kept({ client, address }: Person, change: KeyChange, after: bigint): Promise<FlowTransaction> {
  return signTransaction(client, await keyChangePayload(stack, address, change, after), chainName, 1);
}

const adding = (): KeyChange => {
  const { publicKey, algorithm } = generateDeviceKey();
  return { template: "add-user-key", newKey: { publicKey, algorithm } };
};

async function outcomeOf(transaction: FlowTransaction): Promise<string> {
  const id = await access.submit(transaction);
  return (await access.waitForSeal(id, { signal: AbortSignal.timeout(20_000) })).errorMessage;
}

describe("a freeze", () => {
  it("voids the templates that were signed before: none of them runs on chain any more", async () => {
    const person = await signUpPerson();
    const before = await sequenceOf(person);
    const templates = [await kept(person, adding(), 0n), await kept(person, adding(), 1n)];
    await person.client.freeze();
    await expect.poll(() => sequenceOf(person), { timeout: 20_000, interval: 100 }).toBe(before + 2n);
    for (const template of templates) expect(await outcomeOf(template)).toContain("1007");
    expect(await access.accountKeys(person.address)).toHaveLength(2);
    // What nothing was signed for stays: the account goes on from there.
    expect(await sequenceOf(person)).toBe(before + 2n);
    expect(await problemOf(kept(person, adding(), 0n))).toMatchObject({ error: "AccountFrozen" });
  });

  it("without it the same template runs", async () => {
    const person = await signUpPerson();
    expect(await outcomeOf(await kept(person, adding(), 0n))).toBe("");
  });

  it("uses up nothing where nothing was signed, and after it is lifted templates run again", async () => {
    const person = await signUpPerson();
    const second = await secondPhone(person);
    const before = await sequenceOf(person);
    await person.client.freeze();
    const { deviceKey, client } = second;
    await new CountersignClient({ baseUrl: stack.gateway, deviceKey, credentials: client.credentials! }).unfreeze();
    await expect
      .poll(() => kept(person, adding(), 0n).then(outcomeOf, ({ error }) => error), { timeout: 20_000, interval: 250 })
      .toBe("");
    expect(await sequenceOf(person)).toBe(before + 1n);
  });
});
