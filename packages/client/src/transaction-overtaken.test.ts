import {
  type AccessApi,
  AccessApiError,
  type FlowTransaction,
  type TransactionResult,
  transactionId,
} from "@countersign/flow";
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

  describe("by its own bytes, under the id of its signature's other form,", () => {
    /** `refuse` gives the chain's answer to the bytes that came later; without one it is error 1007. */
    function overtakeByTwin(refuse?: Partial<TransactionResult>, change: Partial<AccessApi> = {}) {
      const ids: string[] = [];
      const all = setUp({
        async submit(transaction: FlowTransaction) {
          const [payer] = transaction.envelopeSignatures;
          const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
          const s = (order - BigInt(`0x${payer!.signature.slice(64)}`)).toString(16).padStart(64, "0");
          const signature = payer!.signature.slice(0, 64) + s;
          ids.push(all.chain.submit({ ...transaction, envelopeSignatures: [{ ...payer!, signature }] }));
          const id = all.chain.submit(transaction);
          if (refuse) all.chain.answer(id, refuse);
          // Its server key is rotated meanwhile: what was refused for that is built again.
          all.chain.keys[0] = { ...all.chain.keys[0]!, revoked: true };
          return id;
        },
        ...change,
      });
      return { ...all, ids };
    }

    it.each<[string, Partial<TransactionResult> | undefined]>([
      ["has run", undefined],
      ["has run, and is refused for the revoked key", { errorMessage: "[Error Code: 1008] invalid payload signature" }],
      ["has run, and expires", { status: "Expired", errorMessage: "" }],
    ])("%s, and is not built again", async (_, refuse) => {
      const { chain, send, ids } = overtakeByTwin(refuse);
      const shown: string[] = [];
      const { id } = await send({ onStatus: (step) => void (step.status === "sealed" && shown.push(step.id)) });
      expect(id).toBe(ids[0]);
      expect(shown).toEqual([id]);
      expect(chain.ran).toEqual([id]);
      expect(chain.submitted).toHaveLength(2);
      expect(twinIds(chain.submitted[1]!)).toContain(transactionId(chain.submitted[0]!));
    });

    it("is not built again where the node does not say whether it has run", async () => {
      const { chain, send } = overtakeByTwin(undefined, {
        transactionResult: () => Promise.reject(new AccessApiError("overloaded", 503)),
      });
      expect(await errorOf(send())).toMatchObject({ status: 503 });
      expect(chain.submitted).toHaveLength(2);
    });
  });
});
