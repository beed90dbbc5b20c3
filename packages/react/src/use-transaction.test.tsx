// @vitest-environment happy-dom
import type { SessionState } from "@countersign/client";
import { act } from "react";
import { describe, expect, it } from "vitest";
import { DeclinedError, type TransactionState, useTransaction } from "./index.ts";
import { client, element, show, unmount } from "./testing/fake-client.tsx";

describe("a transaction", () => {
  let transaction: TransactionState<string>;
  const signed: string[] = [];
  const Pay = () => {
    transaction = useTransaction<string>(async (_client, text, { confirm, onStatus }) => {
      onStatus({ status: "building" });
      await confirm({ text } as never);
      signed.push(text);
      return { id: "id", result: {} as never };
    });
    return transaction.confirmation?.description.text ?? transaction.step?.status ?? "";
  };

  it("is sent when the person approves", async () => {
    await show(<Pay />);
    await act(async () => void transaction.send("pay Bob"));
    expect(element.textContent).toBe("pay Bob");
    expect(signed).toEqual([]);
    await act(async () => transaction.reset());
    expect(transaction.step).toEqual({ status: "building" });
    await act(async () => transaction.confirmation?.approve());
    expect([signed, transaction.result?.id]).toEqual([["pay Bob"], "id"]);
  });

  it("is not signed when the person declines, or leaves", async () => {
    signed.length = 0;
    await show(<Pay />);
    await act(async () => void transaction.send("pay Mallory"));
    await act(async () => transaction.confirmation?.decline());
    expect(transaction.error).toBeInstanceOf(DeclinedError);
    await act(async () => void transaction.send("pay Mallory"));
    await act(async () => unmount());
    expect(signed).toEqual([]);
  });

  const become = (accountId: string | undefined, state: SessionState = "signed-in") =>
    act(async () => {
      client.accountId = accountId;
      client.move(state);
    });

  it("is declined when another person signs in", async () => {
    signed.length = 0;
    await show(<Pay />);
    await act(async () => void transaction.send("pay Mallory"));
    await become("grace");
    expect([signed, element.textContent, transaction.isPending]).toEqual([[], "", false]);
  });

  it("is not shown to another person, whose session follows, neither its result nor its failure", async () => {
    await show(<Pay />);
    await act(async () => void transaction.send("pay Bob"));
    await act(async () => transaction.confirmation?.approve());
    expect(transaction.result?.id).toBe("id");
    await become("grace");
    expect([element.textContent, transaction.result]).toEqual(["", undefined]);
    await act(async () => void transaction.send("pay Mallory"));
    await act(async () => transaction.confirmation?.decline());
    expect(transaction.error).toBeInstanceOf(DeclinedError);
    await become(undefined, "ended");
    expect(transaction.error).toBeInstanceOf(DeclinedError);
    await become("ada");
    expect(transaction.error).toBeUndefined();
  });

  it("of one person asks nobody else, who has signed in before the question", async () => {
    let ask = () => {};
    const Slow = () => {
      transaction = useTransaction<string>(async (_client, text, { confirm }) => {
        await new Promise<void>((resolve) => (ask = resolve));
        await confirm({ text } as never);
        return { id: "id", result: {} as never };
      });
      return transaction.confirmation?.description.text ?? "";
    };
    await show(<Slow />);
    await act(async () => void transaction.send("pay Bob"));
    await become("grace");
    await act(async () => ask());
    expect([element.textContent, transaction.isPending]).toEqual(["", false]);
  });

  it("asks no more when the call has ended before the answer", async () => {
    let end = () => {};
    const Impatient = () => {
      transaction = useTransaction<string>(async (_client, text, { confirm }) => {
        void Promise.resolve(confirm({ text } as never)).catch(() => undefined);
        await new Promise<void>((_, reject) => (end = () => reject(new Error("too late"))));
        return { id: "id", result: {} as never };
      });
      return transaction.confirmation?.description.text ?? String(transaction.error);
    };
    await show(<Impatient />);
    await act(async () => void transaction.send("pay Bob"));
    expect(element.textContent).toBe("pay Bob");
    await act(async () => end());
    expect(element.textContent).toBe("Error: too late");
  });

  it("is not signed when the person has left before the question", async () => {
    let ask = () => {};
    const built = new Promise<void>((resolve) => {
      ask = resolve;
    });
    let ended: unknown;
    const Slow = () => {
      transaction = useTransaction<string>(async (_client, text, { confirm }) => {
        await built;
        try {
          await confirm({ text } as never);
        } catch (error) {
          ended = error;
        }
        return { id: "id", result: {} as never };
      });
      return "";
    };
    await show(<Slow />);
    await act(async () => void transaction.send("pay Mallory"));
    await act(async () => unmount());
    await act(async () => ask());
    expect(ended).toBeInstanceOf(DeclinedError);
  });
});
