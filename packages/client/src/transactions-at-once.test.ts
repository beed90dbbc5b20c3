import { setImmediate as nextTick } from "node:timers/promises";
import { type AccessApi, AccessApiError, cadenceString, type FlowTransaction, transactionId } from "@countersign/flow";
import { describe, expect, it, vi } from "vitest";
import { CountersignClient } from "./countersign-client.ts";
import type { TransactionDescription } from "./describe-transaction.ts";
import { generateDeviceKey } from "./node/device-key.ts";
import {
  type SendTransactionOptions,
  sendTransaction,
  TransactionFailedError,
  type TransactionStep,
  waitForTransaction,
} from "./send-transaction.ts";
import { FakeChain } from "./testing/fake-chain.ts";
import { twinIds } from "./transaction-twins.ts";

const account = "01cf0e2f2f715450";
const paymaster = "179b6b1cb6755e31";
const network = { chainName: "flow-emulator", accessNode: "http://node.test", paymaster: `0x${paymaster}` };
const deviceKey = generateDeviceKey();

function setUp(change: Partial<AccessApi> = {}) {
  const chain = new FakeChain([
    { weight: 999, hashAlgorithm: "SHA3_256" },
    { publicKey: deviceKey.publicKey, sequenceNumber: 7n },
  ]);
  let signatures = 0;
  const fetch = async (input: string | URL | Request) => {
    const { pathname } = new URL(String(input));
    if (pathname === "/account/v1/me") {
      return Response.json({
        account: { addresses: [{ chainName: network.chainName, chainType: "cadence", address: `0x${account}` }] },
      });
    }
    signatures++;
    const addr = pathname.endsWith("paymaster") ? paymaster : account;
    return Response.json({ signature: { addr: `0x${addr}`, keyId: 0, signature: "0a".repeat(64) } });
  };
  const client = new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch });
  const accessApi = chain.access(change);
  const submitted: string[] = [];
  const send = (options: Partial<SendTransactionOptions> = {}) =>
    sendTransaction(client, {
      network,
      accessApi,
      cadence: "transaction {}",
      onSubmitted: (id) => void submitted.push(id),
      ...options,
    });
  const numbers = () => chain.submitted.map(({ proposalKey }) => proposalKey.sequenceNumber);
  const otherClient = () => new CountersignClient({ baseUrl: "http://gateway.test", deviceKey, fetch });
  return { chain, accessApi, client, otherClient, send, submitted, numbers, signatures: () => signatures };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTick();
}

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe("transactions that are sent at once", () => {
  it.each(["device", "server"] as const)(
    "all seal, in the order of the calls, proposed by the %s's key",
    async (by) => {
      const { chain, send, numbers } = setUp();
      const sent = await Promise.all([1, 2, 3].map(() => send({ proposer: by })));
      expect(chain.ran).toEqual(sent.map(({ id }) => id));
      const first = by === "device" ? 7n : 5n;
      expect(numbers()).toEqual([first, first + 1n, first + 2n]);
    },
  );

  it("begin when the one before has used its number, and not before", async () => {
    const { chain, send } = setUp();
    chain.paused = true;
    const all = [send(), send()];
    await until(() => chain.submitted.length === 1);
    for (let i = 0; i < 20; i++) await nextTick();
    expect(chain.submitted).toHaveLength(1);
    chain.run();
    await until(() => chain.submitted.length === 2);
    chain.run();
    await Promise.all(all);
  });

  it("go on behind one that fails, which uses its number as well", async () => {
    const { chain, send, numbers } = setUp();
    chain.execute = ({ script }) => (script.includes("panic") ? "[Error Code: 1101] panic" : "");
    const failing = errorOf(send({ cadence: "transaction { execute { panic() } }" }));
    await send();
    expect(await failing).toBeInstanceOf(TransactionFailedError);
    expect(numbers()).toEqual([7n, 8n]);
  });

  it("go on behind one that is refused before it is submitted", async () => {
    const { chain, send } = setUp();
    const refused = errorOf(send({ onSubmitted: () => Promise.reject(new Error("cannot be kept")) }));
    await send();
    expect(await refused).toMatchObject({ message: "cannot be kept" });
    expect(chain.submitted).toHaveLength(1);
  });

  it("go on behind one that is aborted while the chain has not run it; both run in the end", async () => {
    const { chain, send, submitted, accessApi } = setUp();
    chain.paused = true;
    const abort = new AbortController();
    const aborted = errorOf(send({ signal: abort.signal }));
    await until(() => chain.submitted.length === 1);
    const second = send();
    abort.abort(new Error("the person went back"));
    expect(await aborted).toMatchObject({ message: "the person went back" });
    await until(() => chain.submitted.length === 2);
    chain.run();
    chain.paused = false;
    // The second one was built with the number that the first one used: it is built again, and only it.
    expect((await second).id).toBe(submitted[2]);
    expect(chain.ran).toEqual([submitted[0], submitted[2]]);
    expect(await waitForTransaction(submitted[0]!, { network, accessApi })).toMatchObject({ id: submitted[0] });
  });

  it("are not built when they are aborted before their turn", async () => {
    const { chain, send, signatures } = setUp();
    chain.paused = true;
    const first = send();
    const waits = send({ signal: AbortSignal.abort(new Error("already")) });
    await expect(waits).rejects.toThrow("already");
    const abort = new AbortController();
    const second = errorOf(send({ signal: abort.signal }));
    const third = send();
    await until(() => chain.submitted.length === 1);
    abort.abort(new Error("no longer"));
    expect(await second).toMatchObject({ message: "no longer" });
    chain.paused = false;
    chain.run();
    await Promise.all([first, third]);
    expect(signatures()).toBe(4);
  });

  it("do not wait for ever for one of which the chain says nothing", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { chain, send } = setUp();
      chain.paused = true;
      const abort = new AbortController();
      const lost = errorOf(send({ signal: abort.signal }));
      await until(() => chain.submitted.length === 1);
      const second = send();
      vi.advanceTimersByTime(59_999);
      for (let i = 0; i < 20; i++) await nextTick();
      expect(chain.submitted).toHaveLength(1);
      vi.advanceTimersByTime(1);
      await until(() => chain.submitted.length === 2);
      abort.abort();
      await lost;
      chain.run();
      chain.paused = false;
      await second;
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    ["with Web Locks, as other tabs", undefined],
    ["without Web Locks, in one page", {}],
  ])("of other clients of the account wait for each other, %s", async (_, navigator) => {
    if (navigator) vi.stubGlobal("navigator", navigator);
    const { chain, accessApi, client, otherClient } = setUp();
    const clients = [client, otherClient(), otherClient()];
    // Locks are chosen when a client is made.
    const own = navigator ? clients.map(() => otherClient()) : clients;
    vi.unstubAllGlobals();
    chain.paused = true;
    const all = own.map((each) => sendTransaction(each, { network, accessApi, cadence: "transaction {}" }));
    for (let count = 1; count <= own.length; count++) {
      await until(() => chain.submitted.length === count);
      for (let i = 0; i < 50; i++) await nextTick();
      expect(chain.submitted).toHaveLength(count);
      chain.run();
    }
    const sent = await Promise.all(all);
    // None was overtaken and built again.
    expect(chain.submitted.map((transaction) => transactionId(transaction))).toEqual(sent.map(({ id }) => id));
  });

  it("do not trust a node that lags behind what was seen to run", async () => {
    const { chain, client, send, numbers } = setUp();
    const stale = [...chain.keys];
    const accessApi = chain.access({ accountKeys: async () => stale });
    await send({ accessApi });
    await send({ accessApi });
    expect(numbers()).toEqual([7n, 8n]);
    expect(client).toBeDefined();
  });
});

describe("a transaction whose sequence number somebody else has used", () => {
  const overtaken = (times: number) => {
    let left = times;
    const all = setUp({
      async submit(transaction: FlowTransaction) {
        if (left-- > 0) all.chain.useNumber(transaction.proposalKey.keyId);
        return all.chain.submit(transaction);
      },
    });
    return all;
  };

  it.each(["device", "server"] as const)("is built and signed once more, proposed by the %s's key", async (by) => {
    const { chain, send, submitted, numbers } = overtaken(1);
    const { id } = await send({ proposer: by });
    expect(chain.ran).toEqual([id]);
    expect(submitted).toEqual([expect.any(String), id]);
    expect(numbers()[1]).toBe(numbers()[0]! + 1n);
  });

  it("is not built a third time", async () => {
    const { chain, send, submitted } = overtaken(2);
    expect(await errorOf(send())).toMatchObject({ message: expect.stringContaining("1007") });
    expect(chain.ran).toEqual([]);
    expect(submitted).toHaveLength(2);
  });

  it.each<[string, string]>([
    ["says that the number is still to come", "[Error Code: 1007] invalid: has sequence number 6, but given 7"],
    ["says no number", "[Error Code: 1007] invalid proposal key"],
    ["failed for another reason", "[Error Code: 1101] panic: has sequence number 8, but given 7"],
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
    const { id } = await all.send();
    expect(id).toBe(ids[0]);
    expect(all.chain.ran).toEqual([id]);
    expect(all.chain.submitted).toHaveLength(2);
    expect(twinIds(all.chain.submitted[1]!)).toContain(transactionId(all.chain.submitted[0]!));
  });
});

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
    let overtake = true;
    const all = setUp({
      async submit(transaction: FlowTransaction) {
        if (overtake) all.chain.useNumber(transaction.proposalKey.keyId);
        overtake = false;
        return all.chain.submit(transaction);
      },
    });
    const steps: string[] = [];
    await all.send({ onStatus: ({ status }) => void steps.push(status) });
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
