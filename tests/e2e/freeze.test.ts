import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ProblemError, signTransaction } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { type FlowTransaction, type KeyChange, payloadMessage } from "@countersign/flow";
import { readNetworks } from "@countersign/local-stack/networks.ts";
import { createPhone } from "@countersign/testing";
import { describe, expect, it } from "vitest";
import { keyChangePayload } from "../faults/key-change.ts";
import { query } from "../security/token-forge.ts";
import { access, chainName, type Person, problemOf, secondPhone, signUpPerson, stack } from "../support/person.ts";
import { startExtraSigner } from "./extra-signer.ts";

const sequenceOf = async ({ address }: Person) => (await access.accountKey(address, 0)).sequenceNumber;

/** Signs a template completely and does not send it; it could run `after` sequence numbers later. */
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

/** Returns the file of the stack's networks, changed. */
function networksWith(change: object): string {
  const running = readFileSync(`/proc/${stack.processes.signer!.pid}/environ`, "utf8").split("\0");
  const path = running.find((line) => line.startsWith("CS_NETWORKS_FILE="))!.replace("CS_NETWORKS_FILE=", "");
  const changed = join(mkdtempSync(join(tmpdir(), "countersign-networks-")), "networks.json");
  writeFileSync(
    changed,
    JSON.stringify({ networks: readNetworks(path).map((network) => ({ ...network, ...change })) }),
  );
  return changed;
}

/** Repeats what is refused until its time lock has ended; `availableAt` was announced. */
async function afterTimeLock(work: () => Promise<void>): Promise<void> {
  const { status, error, availableAt } = (await work().then(
    () => ({}),
    (problem) => problem,
  )) as ProblemError;
  expect({ status, error }).toEqual({ status: 403, error: "TimeLockRequired" });
  await sleep(Math.max(0, new Date(availableAt).getTime() - Date.now()) + 300);
  return work();
}

describe("a stolen phone", () => {
  it("cannot lift the owner's freeze at once, and its time lock ends without effect if the owner freezes again", async () => {
    const owner = await signUpPerson();
    const stolen = await secondPhone(owner);
    const events: string[] = [];
    const abort = new AbortController();
    void (async () => {
      for await (const { type, data } of owner.client.events({ signal: abort.signal, lastEventId: "0" }))
        if ("operation" in data) events.push(`${type} ${data.operation}`);
    })().catch(() => undefined);
    await owner.client.freeze();
    const asked = await stolen.client.unfreeze().then(
      () => undefined,
      (problem: ProblemError) => problem,
    );
    expect(asked).toMatchObject({ status: 403, error: "TimeLockRequired" });
    await expect.poll(() => events, { timeout: 20_000 }).toEqual(["time-lock.started unfreeze"]);
    await owner.client.freeze();
    await expect.poll(() => events).toEqual(["time-lock.started unfreeze", "time-lock.cancelled unfreeze"]);
    await sleep(Math.max(0, new Date(asked!.availableAt).getTime() - Date.now()) + 300);
    abort.abort();
    expect(await problemOf(stolen.client.unfreeze())).toMatchObject({ error: "TimeLockRequired" });
    expect(await problemOf(kept(owner, adding(), 0n))).toMatchObject({ error: "AccountFrozen" });
  });

  it("removes the device that froze no sooner than it could lift the freeze; the owner removes it at once, and comes back", async () => {
    const owner = await signUpPerson();
    const stolen = await secondPhone(owner);
    await owner.client.freeze();
    // A young device could not remove an older one anyway.
    await query("device", "UPDATE device SET created_at = $2 WHERE account_id = $1", [
      owner.signedUp.account.id,
      new Date(Date.now() - 2 * 86_400_000),
    ]);
    const removal = problemOf(stolen.client.removeDevice(owner.deviceKey.publicKey));
    expect(await removal).toMatchObject({ status: 403, error: "AccountFrozen" });
    await owner.client.removeDevice(stolen.deviceKey.publicKey);
    await afterTimeLock(() => owner.client.unfreeze());
    await expect
      .poll(() => kept(owner, adding(), 0n).then(outcomeOf, ({ error }) => error), { timeout: 20_000, interval: 250 })
      .toBe("");
  });
});

describe("a freeze", () => {
  it("voids the templates that were signed before: none of them runs on chain any more", async () => {
    const person = await signUpPerson();
    const before = await sequenceOf(person);
    const templates = [await kept(person, adding(), 0n), await kept(person, adding(), 1n)];
    await person.client.freeze();
    await expect.poll(() => sequenceOf(person), { timeout: 20_000, interval: 100 }).toBe(before + 2n);
    for (const template of templates) expect(await outcomeOf(template)).toContain("1007");
    expect(await access.accountKeys(person.address)).toHaveLength(2);
    // Sequence numbers without a signature stay usable: the account goes on from there.
    expect(await sequenceOf(person)).toBe(before + 2n);
    expect(await problemOf(kept(person, adding(), 0n))).toMatchObject({ error: "AccountFrozen" });
  });

  it("leaves a template for a later number behind that voiding does not reach: nothing below it is signed while it may run", async () => {
    const person = await signUpPerson();
    const second = await secondPhone(person);
    const before = await sequenceOf(person);
    // The number before stays free: voiding stops there, and the owner's next change of keys would be
    // followed by this.
    await kept(person, adding(), 1n);
    await person.client.freeze();
    expect(await problemOf(second.client.unfreeze())).toMatchObject({ error: "TimeLockRequired" });
    await person.client.unfreeze();

    // A signer that starts after the freeze, with reference blocks that are valid for as long as on mainnet.
    const signer = await startExtraSigner({ CS_NETWORKS_FILE: networksWith({ referenceSeconds: 900 }) });
    try {
      const token = person.client.credentials!.accessToken;
      const payload = await keyChangePayload(stack, person.address, adding(), 0n);
      expect(payload.proposalKey.sequenceNumber).toBe(before);
      const sign = () =>
        signer.signing.signTransaction({ message: Buffer.from(payloadMessage(payload)), chainName }, { token });
      const refusal = await sign().catch((error) => error);
      expect(refusal).toMatchObject({ reason: "SigningRefused", metadata: { reason: "LaterNumberOpen" } });
      expect(refusal.retryAfterSeconds).toBeGreaterThan(0);
      expect(refusal.retryAfterSeconds).toBeLessThanOrEqual(900);
      // An hour later the kept template can run no more.
      const { id } = person.signedUp.account;
      const anHourAgo = new Date(Date.now() - 3_600_000);
      await query("signer", "UPDATE signed_template SET signed_at = $2 WHERE account_id = $1", [id, anHourAgo]);
      expect((await sign()).signature).toBeDefined();
    } finally {
      await signer.stop();
    }
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
    const other = createPhone(stack, { deviceKey, credentials: client.credentials! }).client;
    expect(await problemOf(other.unfreeze())).toMatchObject({ error: "TimeLockRequired" });
    await person.client.unfreeze();
    await expect
      .poll(() => kept(person, adding(), 0n).then(outcomeOf, ({ error }) => error), { timeout: 20_000, interval: 250 })
      .toBe("");
    expect(await sequenceOf(person)).toBe(before + 1n);
  });
});
