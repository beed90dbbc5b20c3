// @vitest-environment happy-dom
import {
  type AccountEvent,
  type CountersignClient,
  type EventOptions,
  ProblemError,
  type SessionState,
} from "@countersign/client";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  CountersignProvider,
  DeclinedError,
  type OpeningState,
  SignedIn,
  SignedOut,
  type TransactionState,
  useAccountEvents,
  useAction,
  useDevices,
  useIsLive,
  useOpenAccount,
  useTransaction,
} from "./index.ts";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

/** A client as far as the hooks use it: its state, its events and its answers are set by the test. */
class FakeClient {
  state: SessionState = "signed-in";
  devicesAnswer: () => Promise<unknown> = async () => [{ id: "1", name: "Ada's phone" }];
  streams = 0;
  readonly calls: string[] = [];
  loginNonce = "nonce";
  #listeners = new Set<() => void>();
  #emit: ((event: AccountEvent) => void) | undefined;
  readonly session = {
    subscribe: (listener: () => void) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
    endedBy: undefined,
    get state(): SessionState {
      return "signed-in";
    },
  };

  constructor() {
    Object.defineProperty(this.session, "state", { get: () => this.state });
  }

  move(state: SessionState): void {
    this.state = state;
    for (const listener of [...this.#listeners]) listener();
  }

  emit(type: string): void {
    this.#emit?.({ id: "1", type, data: {} } as unknown as AccountEvent);
  }

  onConnection: EventOptions["onConnection"];
  /** Whether streams are connected at once. */
  connects = true;

  async *events({ signal, onConnection }: EventOptions & { signal: AbortSignal }): AsyncGenerator<AccountEvent> {
    this.streams += 1;
    this.onConnection = onConnection;
    if (this.connects) onConnection?.(true);
    const waiting: AccountEvent[] = [];
    let wake = () => {};
    this.#emit = (event) => {
      waiting.push(event);
      wake();
    };
    signal.addEventListener("abort", () => wake());
    while (!signal.aborted) {
      for (const event of waiting.splice(0)) yield event;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    this.streams -= 1;
    onConnection?.(false);
  }

  devices = () => this.devicesAnswer();
  signUp = async () => {
    this.calls.push("sign-up");
    throw new ProblemError(409, { error: "AccountExists" }, null);
  };
  signIn = async () => {
    this.calls.push("sign-in");
    throw new ProblemError(400, { error: "PleaseRegisterKey" }, null);
  };
  requestTwoFactor = async () => ({ twoFactorAuth: { id: "1", expiresAt: "2030-01-01T00:00:00.000Z" } });
  matchingCode = async () => "7K3F-9Q0X";
  waitForTwoFactor = async (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** The part of happy-dom that is used; the packages are compiled without a browser's types. */
interface Element {
  textContent: string;
}
const page = globalThis as unknown as { document: { createElement(tag: "div"): Element } };

let client: FakeClient;
let element: Element;
let unmount: () => void;
beforeEach(() => {
  client = new FakeClient();
  element = page.document.createElement("div");
});
afterEach(() => act(async () => unmount()));

async function show(children: ReactNode): Promise<void> {
  const root = createRoot(element as never);
  unmount = () => root.unmount();
  const provided = client as unknown as CountersignClient;
  await act(async () => root.render(<CountersignProvider client={provided}>{children}</CountersignProvider>));
}

it("the gates follow the session", async () => {
  await show([<SignedIn key="in">in</SignedIn>, <SignedOut key="out">out</SignedOut>]);
  expect(element.textContent).toBe("in");
  await act(async () => client.move("frozen"));
  expect(element.textContent).toBe("in");
  await act(async () => client.move("ended"));
  expect(element.textContent).toBe("out");
});

function Names() {
  const { data, error, isLoading } = useDevices();
  return `${data?.map(({ name }) => name).join()} ${error ? "failed" : ""}${isLoading ? "loading" : ""}`;
}

describe("data of the service", () => {
  it("is read again after its events, over one stream for all", async () => {
    await show([<Names key="1" />, <Names key="2" />]);
    expect(element.textContent).toBe("Ada's phone Ada's phone ");
    expect(client.streams).toBe(1);
    client.devicesAnswer = async () => [{ name: "Ada's tablet" }];
    await act(async () => client.emit("key.revoked"));
    expect(element.textContent).toBe("Ada's tablet Ada's tablet ");
    client.devicesAnswer = async () => [{ name: "nobody's" }];
    await act(async () => client.emit("time-lock.started"));
    expect(element.textContent).not.toContain("nobody's");
  });

  it("is live while its stream is connected", async () => {
    const Live = () => (useIsLive() ? "live" : "not live");
    await show([<Live key="1" />, <Names key="2" />]);
    expect(element.textContent).toContain("liveAda");
    expect(element.textContent).not.toContain("not live");
    await act(async () => client.onConnection?.(false));
    expect(element.textContent).toContain("not live");
    await act(async () => client.onConnection?.(true));
    await act(async () => client.move("ended"));
    expect(element.textContent).toContain("not live");
    await act(async () => client.move("signed-in"));
    expect(element.textContent).not.toContain("not live");
  });

  it("keeps the last answer beside a failure, and takes no late one", async () => {
    await show(<Names />);
    client.devicesAnswer = () => Promise.reject(new Error("no answer"));
    await act(async () => client.emit("stream.reset"));
    expect(element.textContent).toBe("Ada's phone failed");
    let late = (_: unknown) => {};
    client.devicesAnswer = () => new Promise((resolve) => (late = resolve));
    await act(async () => client.emit("key.added"));
    client.devicesAnswer = async () => [{ name: "the newest" }];
    await act(async () => client.emit("key.added"));
    await act(async () => late([{ name: "late" }]));
    expect(element.textContent).toBe("the newest ");
  });

  it("is read again although an app's own listener fails, whose error the platform reports", async () => {
    const Failing = () => {
      useAccountEvents(() => {
        throw new Error("the app's mistake");
      });
      return null;
    };
    const reported: unknown[] = [];
    vi.stubGlobal("reportError", (error: unknown) => reported.push(error));
    await show([<Failing key="1" />, <Names key="2" />]);
    client.devicesAnswer = async () => [{ name: "Ada's tablet" }];
    await act(async () => client.emit("key.revoked"));
    expect(element.textContent).toBe("Ada's tablet ");
    expect(client.streams).toBe(1);
    expect(reported).toMatchObject([{ message: "the app's mistake" }]);
    vi.unstubAllGlobals();
  });

  it("of one person is not shown to the next, who signs in on the same page", async () => {
    await show(<Names />);
    await act(async () => client.move("signed-out"));
    expect(element.textContent).not.toContain("Ada");
    client.devicesAnswer = () => Promise.reject(new Error("no answer"));
    await act(async () => client.move("signed-in"));
    expect(element.textContent).toBe("undefined failed");
  });

  it("is read again once its events are live: those before are not in the stream, and a read may have failed", async () => {
    client.connects = false;
    client.devicesAnswer = () => Promise.reject(new Error("offline"));
    await show(<Names />);
    expect(element.textContent).toBe("undefined failed");
    client.devicesAnswer = async () => [{ name: "Ada's phone" }];
    await act(async () => client.onConnection?.(true));
    expect(element.textContent).toBe("Ada's phone ");
    client.devicesAnswer = () => Promise.reject(new Error("must not be asked"));
    await act(async () => client.onConnection?.(false));
    expect(element.textContent).toBe("Ada's phone ");
  });

  it("is shown as soon as one answer is there, also while a later one is on its way", async () => {
    let first = (_: unknown) => {};
    client.devicesAnswer = () => new Promise((resolve) => (first = resolve));
    client.connects = false;
    await show(<Names />);
    client.devicesAnswer = () => new Promise(() => {});
    await act(async () => client.onConnection?.(true));
    await act(async () => first([{ name: "Ada's phone" }]));
    expect(element.textContent).toBe("Ada's phone loading");
  });

  it("is not read without a session, and the stream ends with it", async () => {
    client.state = "signed-out";
    client.devicesAnswer = () => Promise.reject(new Error("must not be asked"));
    await show(<Names />);
    expect([client.streams, element.textContent]).toEqual([0, "undefined loading"]);
    client.devicesAnswer = async () => [];
    await act(async () => client.move("signed-in"));
    expect(client.streams).toBe(1);
    await act(async () => client.move("ended"));
    expect(client.streams).toBe(0);
  });
});

it("an action runs once for a double click, and keeps its failure", async () => {
  let runs = 0;
  let action: ReturnType<typeof useAction<[], never>>;
  const Button = () => {
    action = useAction(async () => {
      runs += 1;
      throw new Error("refused");
    });
    return `${action.isPending} ${action.error}`;
  };
  await show(<Button />);
  await act(async () => void (await Promise.all([action.run(), action.run()])));
  expect([runs, element.textContent]).toEqual([1, "false Error: refused"]);
});

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

it("opening an account enrolls a device whose key is new, and can be cancelled", async () => {
  let opening: ReturnType<typeof useOpenAccount>;
  const states: OpeningState["step"][] = [];
  const Open = () => {
    const logIn = async ({ nonce }: { nonce: string }) => ({ method: "id_token_channel" as const, token: nonce });
    opening = useOpenAccount({ chainName: "flow-emulator", logIn });
    states.push(opening.state.step);
    return opening.state.step === "enrolling" ? opening.state.matchingCode : opening.state.step;
  };
  await show(<Open />);
  await act(async () => void opening.open());
  expect(client.calls).toEqual(["sign-up", "sign-in"]);
  expect(element.textContent).toBe("7K3F-9Q0X");
  await act(async () => opening.cancel());
  expect(element.textContent).toBe("idle");
  expect(states).toContain("enrolling");
});

it("opening an account does nothing more once it is cancelled, also with a login that comes later", async () => {
  let opening: ReturnType<typeof useOpenAccount>;
  let answer = (_: { method: "id_token_channel"; token: string }) => {};
  const Open = () => {
    const logIn = () => new Promise<Parameters<typeof answer>[0]>((resolve) => (answer = resolve));
    opening = useOpenAccount({ chainName: "flow-emulator", logIn });
    return opening.state.step;
  };
  await show(<Open />);
  await act(async () => void opening.open());
  expect(element.textContent).toBe("logging-in");
  await act(async () => opening.cancel());
  await act(async () => answer({ method: "id_token_channel", token: "late" }));
  expect([client.calls, element.textContent]).toEqual([[], "idle"]);
});
