import {
  type AccountEvent,
  type CountersignClient,
  type EventOptions,
  ProblemError,
  type SessionState,
} from "@countersign/client";
import { act, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach } from "vitest";
import { CountersignProvider } from "../provider.tsx";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

/** A client as far as the hooks use it: its state, its events and its answers are set by the test. */
export class FakeClient {
  state: SessionState = "signed-in";
  accountId: string | undefined = "ada";
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
    get accountId(): string | undefined {
      return undefined;
    },
  };

  constructor() {
    Object.defineProperty(this.session, "state", { get: () => this.state });
    Object.defineProperty(this.session, "accountId", { get: () => this.accountId });
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
  matchingCode = () => "7K3F-9Q0X";
  waitForTwoFactor = async (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** The part of happy-dom that is used; the packages are compiled without a browser's types. */
interface Element {
  textContent: string;
}
const page = globalThis as unknown as { document: { createElement(tag: "div"): Element } };

/** The client and the element of the running test. */
export let client: FakeClient;
export let element: Element;
/** Takes what the test shows off the page. */
export let unmount: () => void;
beforeEach(() => {
  client = new FakeClient();
  element = page.document.createElement("div");
});
afterEach(() => act(async () => unmount()));

/** Shows components that use the test's client; without a provider, those that use none. */
export async function show(children: ReactNode, hasProvider = true): Promise<void> {
  const root = createRoot(element as never);
  unmount = () => root.unmount();
  const provided = client as unknown as CountersignClient;
  const all = hasProvider ? <CountersignProvider client={provided}>{children}</CountersignProvider> : children;
  await act(async () => root.render(all));
}
