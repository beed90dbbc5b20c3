import { type FlowTransaction, transactionId } from "@countersign/flow";
import { describe, expect, it } from "vitest";
import { errorOf, overtake, setUp } from "./testing/send-on-fake-chain.ts";
import { twinIds } from "./transaction-twins.ts";
import { TransactionFailedError } from "./wait-for-transaction.ts";

describe("a transaction whose sequence number somebody else has used", () => {
  it.each(["device", "server"] as const)("is built and signed once more, proposed by the %s's key", async (by) => {
    const { chain, send, submitted, numbers } = overtake(1);
    const { id } = await send({ proposer: by });
    expect(chain.ran).toEqual([id]);
    expect(submitted).toEqual([expect.any(String), id]);
    expect(numbers()[1]).toBe(numbers()[0]! + 1n);
  });

  it("is not built a third time", async () => {
    const { chain, send, submitted } = overtake(2);
    expect(await errorOf(send())).toMatchObject({ message: expect.stringContaining("1007") });
    expect(chain.ran).toEqual([]);
    expect(submitted).toHaveLength(2);
  });

  it.each<[string, string]>([
    ["says that the number is still to come", "[Error Code: 1007] invalid: has sequence number 6, but given 7"],
    ["says no number", "[Error Code: 1007] invalid proposal key"],
    ["failed for another reason", "[Error Code: 1101] panic: has sequence number 8, but given 7"],
    [
      "failed with a text of its author",
      "[Error Code: 1101] panic: [Error Code: 1007] has sequence number 8, but given 7",
    ],
  ])("is not built again where the chain %s", async (_, errorMessage) => {
    const { send, submitted } = setUp({
      waitForSeal: async () => ({ status: "Sealed", statusCode: 1, errorMessage, blockId: "", events: [] }),
    });
    expect(await errorOf(send())).toBeInstanceOf(TransactionFailedError);
    expect(submitted).toHaveLength(1);
  });

  it("is not built again where it ran itself, under the id of its signature's other form", async () => {
    const ids: string[] = [];
    const all = setUp({
      async submit(transaction: FlowTransaction) {
        const [payer] = transaction.envelopeSignatures;
        const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
        const s = (order - BigInt(`0x${payer!.signature.slice(64)}`)).toString(16).padStart(64, "0");
        const twin = {
          ...transaction,
          envelopeSignatures: [{ ...payer!, signature: payer!.signature.slice(0, 64) + s }],
        };
        ids.push(all.chain.submit(twin));
        return all.chain.submit(transaction);
      },
    });
    const shown: string[] = [];
    const { id } = await all.send({ onStatus: (step) => void ("result" in step && shown.push(step.id)) });
    expect(id).toBe(ids[0]);
    expect(shown).toEqual([id, id]);
    expect(all.chain.ran).toEqual([id]);
    expect(all.chain.submitted).toHaveLength(2);
    expect(twinIds(all.chain.submitted[1]!)).toContain(transactionId(all.chain.submitted[0]!));
  });
});
