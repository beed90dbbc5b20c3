import type { AccessApi, ChainEvent } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import type { EventsAccess } from "./events-in.ts";
import { paidTransactions } from "./fee-events.ts";

const paymaster = { address: "f3fcd2c1a78f5eee", keyId: 0 };
const network = { network: "emulator", paymaster } as const;
const signal = new AbortController().signal;
const event = (transactionId: string, fields: Record<string, unknown>): ChainEvent => ({
  type: "",
  transactionId,
  fields,
});
const withdrawn = (id: string, from: string | null) => event(id, { amount: "1.00000000", from });
const deducted = (id: string, amount = "0.00001000") =>
  event(id, { amount, inclusionEffort: "1.00000000", executionEffort: "0.00000394" });

function chain(payers: Record<string, string>, events: { withdrawn: ChainEvent[]; deducted: ChainEvent[] }) {
  const asked: string[] = [];
  const access: Pick<AccessApi, "events" | "transaction"> = {
    events: async (type) => {
      asked.push(type);
      return type.endsWith("TokensWithdrawn") ? events.withdrawn : events.deducted;
    },
    transaction: async (id) => {
      asked.push(id);
      return {
        script: "",
        arguments: [],
        authorizers: [],
        payer: payers[id]!,
        proposalKey: { address: "01cf0e2f2f715450", keyId: 1, sequenceNumber: BigInt(id) },
      };
    },
  };
  const longAnswers = {} as EventsAccess["longAnswers"];
  return { asked, paid: () => paidTransactions({ access, longAnswers }, network, 1n, 9n, signal) };
}

describe("the paymaster's transactions", () => {
  it("is known by the proposal key, with effort and fees", async () => {
    const payers = { 7: paymaster.address, 8: "179b6b1cb6755e31", 9: paymaster.address };
    const { paid } = chain(payers, {
      // The paymaster's tokens may also leave in a transaction that another pays for, and others pay for
      // their own.
      withdrawn: [withdrawn("7", "0xf3fcd2c1a78f5eee"), withdrawn("8", "0xf3fcd2c1a78f5eee"), withdrawn("9", null)],
      deducted: [deducted("7"), deducted("8"), deducted("9")],
    });
    expect(await paid()).toEqual([
      { proposer: "01cf0e2f2f715450", keyId: 1, sequenceNumber: 7n, computation: 394n, fees: 1000n },
    ]);
  });

  it("counts a transaction once, by the chain's own event: a contract may emit others before it", async () => {
    const indexed = (index: number, amount: string) => ({ ...deducted("7", amount), index });
    const { asked, paid } = chain(
      { 7: paymaster.address },
      {
        withdrawn: [withdrawn("7", "0xf3fcd2c1a78f5eee")],
        deducted: [indexed(9, "0.00001000"), indexed(2, "0.00000001"), indexed(5, "0.00000001")],
      },
    );
    expect(await paid()).toMatchObject([{ sequenceNumber: 7n, fees: 1000n }]);
    expect(asked.filter((each) => each === "7")).toHaveLength(1);
  });

  it("reads nothing more where nothing was withdrawn", async () => {
    const { asked, paid } = chain({}, { withdrawn: [withdrawn("7", null)], deducted: [deducted("7")] });
    expect(await paid()).toEqual([]);
    expect(asked).toHaveLength(1);
  });

  it("does not guess at an amount of another shape", async () => {
    const { paid } = chain(
      { 7: paymaster.address },
      { withdrawn: [withdrawn("7", "0xf3fcd2c1a78f5eee")], deducted: [deducted("7", "1e-5")] },
    );
    await expect(paid()).rejects.toThrow("amount is no UFix64");
  });
});
