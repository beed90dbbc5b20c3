import { setImmediate as nextTick } from "node:timers/promises";
import { transactionId } from "@countersign/flow";
import { describe, expect, it, vi } from "vitest";
import type { CredentialStore } from "./credential-store.ts";
import type { Credentials } from "./resources.ts";
import { sendTransaction } from "./send-transaction.ts";
import { accessTokenOf } from "./testing/fake-auth.ts";
import { errorOf, network, setUp, until } from "./testing/send-on-fake-chain.ts";
import { TransactionFailedError, waitForTransaction } from "./wait-for-transaction.ts";

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

  it.each(["confirm", "onSubmitted"] as const)(
    "go on behind one that is aborted while the app's own %s is open, and which is not submitted",
    async (hook) => {
      const { chain, send } = setUp();
      const abort = new AbortController();
      const answer = Promise.withResolvers<void>();
      const asked = Promise.withResolvers<void>();
      const ask = () => {
        asked.resolve();
        return answer.promise;
      };
      const aborted = errorOf(send({ [hook]: ask, signal: abort.signal }));
      await asked.promise;
      const second = send();
      abort.abort(new Error("the person went back"));
      await second;
      answer.resolve();
      expect(await aborted).toMatchObject({ message: "the person went back" });
      expect(chain.submitted).toHaveLength(1);
    },
    2_000,
  );

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

  it.each(["grace", undefined])(
    "are not sent in the name of another person, who has the session by then: %s",
    async (next) => {
      const of = (sub: string) => ({ accessToken: accessTokenOf({ sub }), refreshToken: sub });
      let kept: Credentials | undefined = of("ada");
      let changed = () => {};
      const store: CredentialStore = {
        name: "",
        load: () => kept,
        save: () => {},
        subscribe: (listener) => {
          changed = listener;
          return () => {};
        },
      };
      const { chain, send } = setUp({}, { store });
      chain.paused = true;
      const first = send();
      const second = errorOf(send());
      await until(() => chain.submitted.length === 1);
      kept = next === undefined ? undefined : of(next);
      changed();
      chain.paused = false;
      chain.run();
      await first;
      expect(await second).toMatchObject({ error: "SessionEnded" });
      expect(chain.submitted).toHaveLength(1);
    },
  );

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
