import { setImmediate as nextTick } from "node:timers/promises";
import { AccessApiError, cadenceString, type FlowTransaction } from "@countersign/flow";
import { describe, expect, it, vi } from "vitest";
import type { TransactionDescription } from "./describe-transaction.ts";
import { deviceKey, errorOf, network, overtake, paymaster, setUp } from "./testing/send-on-fake-chain.ts";
import { type TransactionStep, waitForTransaction } from "./wait-for-transaction.ts";

describe("the id of a transaction", () => {
  it("is given before it is submitted, and is the chain's", async () => {
    const { chain, send } = setUp();
    const order: string[] = [];
    const sent = await send({
      async onSubmitted(id) {
        await nextTick();
        expect(chain.submitted).toEqual([]);
        order.push(id);
      },
    });
    expect(order).toEqual([sent.id]);
  });

  it("is known to a caller that aborted while no answer came, who waits for it later", async () => {
    const abort = new AbortController();
    const { chain, send, submitted, accessApi } = setUp({
      async submit(transaction: FlowTransaction) {
        chain.submit(transaction);
        abort.abort(new Error("the app is closed"));
        throw new AccessApiError("no answer", 0);
      },
    });
    expect(await errorOf(send({ signal: abort.signal }))).toBeDefined();
    const { id } = await waitForTransaction(submitted[0]!, { network, accessApi, signal: AbortSignal.timeout(5_000) });
    expect(chain.ran).toEqual([id]);
  });

  it("is waited for until the signal aborts, and fails as the chain says", async () => {
    const { chain, send, accessApi, submitted } = setUp();
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(waitForTransaction("ab".repeat(32), { network, accessApi, signal })).rejects.toThrow("enough");
    chain.execute = () => "[Error Code: 1101] panic";
    await errorOf(send());
    await expect(waitForTransaction(submitted[0]!, { network, accessApi })).rejects.toMatchObject({
      name: "TransactionFailedError",
      transactionId: submitted[0],
    });
  });
});

describe("the steps of a transaction", () => {
  it("are reported in their order, with what is signed, the id and the result", async () => {
    const { send } = setUp();
    const steps: TransactionStep[] = [];
    const { id } = await send({ onStatus: (step) => void steps.push(step), args: [cadenceString("x")] });
    expect(steps.map(({ status }) => status)).toEqual(["building", "signing", "submitted", "executed", "sealed"]);
    expect(steps[1]).toMatchObject({ description: { chainName: network.chainName, paidBy: "paymaster" } });
    expect(steps.slice(2)).toEqual([
      { status: "submitted", id },
      { status: "executed", id, result: expect.objectContaining({ status: "Sealed" }) },
      { status: "sealed", id, result: expect.objectContaining({ status: "Sealed" }) },
    ]);
  });

  it("begin again where it is built again, and never say that the first one was executed", async () => {
    const { send } = overtake(1);
    const steps: string[] = [];
    await send({ onStatus: ({ status }) => void steps.push(status) });
    expect(steps).toEqual([
      "building",
      "signing",
      "submitted",
      "building",
      "signing",
      "submitted",
      "executed",
      "sealed",
    ]);
  });

  it.each(["submitted", "executed", "sealed"])(
    "end with a mistake of the app's own code at %s, at once",
    async (at) => {
      const { send, accessApi } = setUp();
      const calls: string[] = [];
      const onStatus = (step: TransactionStep) => {
        calls.push(step.status);
        if (step.status === at) (undefined as unknown as { show(): void }).show();
      };
      expect(await errorOf(send({ onStatus }))).toBeInstanceOf(TypeError);
      expect(calls.filter((status) => status === at)).toEqual([at]);
      if (at === "submitted") return;
      const { id } = await send();
      await expect(waitForTransaction(id, { network, accessApi, onStatus })).rejects.toThrow(TypeError);
    },
  );

  it("end where the person does not confirm: nothing is signed", async () => {
    const { send, signatures, chain } = setUp();
    const sign = vi.spyOn(deviceKey, "sign");
    const confirm = async ({ script, payer }: TransactionDescription) => {
      expect([script, payer]).toEqual(["transaction {}", `0x${paymaster}`]);
      throw new Error("the person said no");
    };
    expect(await errorOf(send({ confirm }))).toMatchObject({ message: "the person said no" });
    expect([sign.mock.calls.length, signatures(), chain.submitted.length]).toEqual([0, 0, 0]);
    sign.mockRestore();
    await send({ confirm: () => {} });
    expect(chain.submitted).toHaveLength(1);
  });
});

describe("waiting for the seal", () => {
  it.each([0, 429, 500, 503])("goes on where an answer of the node is lost (%i)", async (status) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      let failures = 2;
      const all = setUp({
        async waitForSeal(id, options) {
          if (failures-- > 0) throw new AccessApiError("lost", status);
          return all.chain.access().waitForSeal(id, options);
        },
      });
      const sent = all.send();
      while (failures > 0) await vi.advanceTimersByTimeAsync(1_000);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(all.chain.ran).toEqual([(await sent).id]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("ends where the node refuses", async () => {
    const { send } = setUp({ waitForSeal: () => Promise.reject(new AccessApiError("no", 400)) });
    expect(await errorOf(send())).toMatchObject({ status: 400 });
  });

  it("is resumed by the id with the same steps", async () => {
    const { send, accessApi } = setUp();
    const { id } = await send();
    const steps: string[] = [];
    await waitForTransaction(id, { network, accessApi, onStatus: ({ status }) => void steps.push(status) });
    expect(steps).toEqual(["executed", "sealed"]);
  });
});
