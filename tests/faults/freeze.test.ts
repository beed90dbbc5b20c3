import { generateDeviceKey } from "@countersign/client/node";
import { createAccessApi, type FlowTransaction } from "@countersign/flow";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expectComplete, faultPointsOf, isSettlement } from "./fault-points.ts";
import { type FaultStack, startFaultStack } from "./fault-stack.ts";
import { quiet } from "./invariants.ts";
import { signedKeyChange } from "./key-change.ts";
import { completePerson, type Person, persist } from "./person.ts";

let stack: FaultStack;
beforeAll(async () => {
  // One replica of each: no other one continues the work of a killed process.
  stack = await startFaultStack({}, 1);
}, 180_000);
afterAll(() => stack?.stop(), 60_000);

const accessApi = () => createAccessApi({ baseUrl: stack.stack.chains[0]!.accessNode });

/** A person with two signed templates that were not submitted. */
interface Robbed {
  person: Person;
  address: string;
  templates: FlowTransaction[];
}

async function newRobbed(): Promise<Robbed> {
  const person = await completePerson(stack.stack);
  const signed = (after: bigint) => {
    const { publicKey, algorithm } = generateDeviceKey();
    const newKey = { publicKey, algorithm };
    return signedKeyChange(stack.stack, person.client, { template: "add-user-key", newKey }, after);
  };
  const templates = [await signed(0n), await signed(1n)];
  return { person, address: templates[0]!.authorizers[0]!, templates };
}

const freeze = ({ person }: Robbed) => persist(person, "freeze", () => person.client.freeze());

/** Both numbers are used up, and neither template runs. */
async function expectVoided({ address, templates }: Robbed): Promise<void> {
  const access = accessApi();
  const next = templates[1]!.proposalKey.sequenceNumber + 1n;
  await expect
    .poll(async () => (await access.accountKey(address, 0)).sequenceNumber, { timeout: 40_000, interval: 250 })
    .toBe(next);
  for (const template of templates) {
    const id = await access.submit(template);
    const { errorMessage } = await access.waitForSeal(id, { signal: AbortSignal.timeout(20_000) });
    expect(errorMessage).toContain("1007");
  }
  expect(await access.accountKeys(address)).toHaveLength(2);
  expect((await access.accountKey(address, 0)).sequenceNumber).toBe(next);
}

describe("an account is frozen, and a process is killed", () => {
  const cases = faultPointsOf("freeze").map((point) => {
    const program = point.split("/")[0] as string;
    return { point, victim: program === "outbox" ? "auth" : program };
  });
  /** One for each test, created beforehand: sign-ups at the same time share creations. */
  let everybody: Robbed[];
  beforeAll(async () => {
    everybody = await Promise.all(Array.from({ length: 1 + cases.length }, newRobbed));
    await quiet(stack.stack);
  }, 180_000);

  it("without a kill every fault point is passed, so that the list is complete", async () => {
    const robbed = everybody.shift()!;
    const reached = new Set<string>();
    stack.controller.judge = ({ point }) => void (isSettlement(point) || reached.add(point));
    await freeze(robbed);
    await expectComplete("freeze", reached);
    stack.controller.judge = undefined;
    await expectVoided(robbed);
  });

  it.each(cases)("at $point, $victim is killed: what was signed is voided", async ({ point, victim }) => {
    const robbed = everybody.shift()!;
    const { pid } = stack.stack.processes[victim]!;
    const standing = Promise.withResolvers<void>();
    stack.controller.judge = (reached) => {
      if (reached.point !== point || reached.pid !== pid) return;
      standing.resolve();
      return new Promise<void>(() => undefined);
    };
    await freeze(robbed);
    await standing.promise;
    stack.controller.judge = undefined;
    await stack.bounce(victim);
    await stack.allUp();
    await expectVoided(robbed);
    expect(stack.died()).toEqual([]);
  });
});
