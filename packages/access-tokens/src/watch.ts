import { backoffMs, type Clock, type Logger, sleepUntil } from "@countersign/core";
import type { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import type { RpcClient } from "@countersign/rpc";
import { createTokenState, type TokenState } from "./state.ts";

/** Auth sends a heartbeat each second; a connection without one for this long is closed. */
const SILENCE_MS = 4_000;
/** The call itself says only that it was cancelled: it waits until there is a connection. */
const SILENT = "auth has sent nothing for 4 seconds: check CS_AUTH_ADDRESS, the network, and both certificates";

export interface WatchedTokenState extends TokenState {
  close(): void;
}

const CURRENT_TIMEOUT_MS = 5_000;
const CURRENT_POLL_MS = 10;

/**
 * Waits, before a process listens, until its token state is current: a replica that is dialled as soon as its
 * port is open would otherwise reject calls that other replicas serve. If auth does not answer, it returns
 * after CURRENT_TIMEOUT_MS, and calls are rejected.
 */
export async function untilCurrent(state: Pick<TokenState, "current">): Promise<void> {
  const end = performance.now() + CURRENT_TIMEOUT_MS;
  while (!state.current() && performance.now() < end) {
    await sleepUntil(CURRENT_POLL_MS, []);
  }
}

/**
 * Watches auth.v1.TokenState/Watch until it is closed; resumes at the last cursor after each lost connection.
 */
export function watchTokenState(
  client: Pick<RpcClient<TokenStateService>, "watch">,
  options: { logger: Logger; clock: Clock },
): WatchedTokenState {
  const logger = options.logger.child({ component: "token-state" });
  const state = createTokenState({
    clock: options.clock,
    onProblem: (err) => logger.error({ err }, "token key cannot be used"),
  });
  const stop = new AbortController();

  const once = async (): Promise<void> => {
    const silence = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const restartTimer = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), SILENCE_MS);
    };
    restartTimer();
    try {
      const signal = AbortSignal.any([stop.signal, silence.signal]);
      for await (const message of client.watch(
        { cursor: state.cursor(), packed: true },
        { signal, waitForReady: true },
      )) {
        state.apply(message);
        // Many entries take longer to arrive than a heartbeat. The state's age counts from complete messages.
        if (message.complete || message.entries.length > 0) restartTimer();
      }
    } catch (err) {
      throw silence.signal.aborted ? new Error(SILENT, { cause: err }) : err;
    } finally {
      clearTimeout(timer);
    }
  };

  const run = async (): Promise<void> => {
    for (let failures = 1; !stop.signal.aborted; failures += 1) {
      const before = state.ageMs();
      try {
        await once();
      } catch (err) {
        if (!stop.signal.aborted) logger.warn({ err }, "token state connection lost; will retry");
      }
      if (state.ageMs() < before) failures = 1;
      await sleepUntil(backoffMs(Math.min(failures, 5)), [stop.signal]);
    }
  };
  void run();

  return { ...state, close: () => stop.abort() };
}
