/*
 * Ends waits by signals and time, with no more than setTimeout, AbortController and `aborted`: React Native
 * lacks AbortSignal.timeout, AbortSignal.any, throwIfAborted, reason and DOMException.
 */

/**
 * Thrown when a wait took longer than it may.
 * @example
 * const wait = (signal: AbortSignal) => sleepUnlessAborted(60_000, signal);
 * (await withDeadline(1, undefined, wait).catch((error) => error)) instanceof DeadlineError; // => true
 */
export class DeadlineError extends Error {
  override readonly name = "TimeoutError";
}

/**
 * Returns why a signal was aborted; an AbortError where the platform does not say.
 * @example abortReason(AbortSignal.abort("closed")); // => "closed"
 */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? Object.assign(new Error("the operation was aborted"), { name: "AbortError" });
}

/**
 * Throws the signal's reason where it is aborted.
 * @example throwIfAborted(new AbortController().signal); // does nothing
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortReason(signal);
}

/**
 * Calls `listen` when the signal aborts, or at once. Returns a function that unsubscribes.
 * @example
 * const stop = onAbort(AbortSignal.timeout(1_000), () => console.log("too late"));
 * stop();
 */
export function onAbort(signal: AbortSignal | undefined, listen: () => void): () => void {
  if (signal?.aborted) listen();
  signal?.addEventListener("abort", listen, { once: true });
  return () => signal?.removeEventListener("abort", listen);
}

/**
 * Does `work` with a signal that aborts with the caller's, or after a time.
 * Errors: the caller's reason when it aborted, DeadlineError when the time was over, else those of `work`.
 * @example const block = await withDeadline(5_000, undefined, (signal) => access.latestSealedBlock(signal));
 */
export async function withDeadline<Result>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  throwIfAborted(signal);
  const controller = new AbortController();
  let expired: DeadlineError | undefined;
  const timer = setTimeout(() => {
    expired = new DeadlineError(`no result within ${milliseconds} ms`);
    controller.abort(expired);
  }, milliseconds);
  const stop = onAbort(signal, () => controller.abort(signal && abortReason(signal)));
  try {
    return await work(controller.signal);
  } catch (error) {
    // A fetch of React Native rejects without the reason. Other errors than aborts stay what they are.
    const isAbort = error instanceof Error && (error.name === "AbortError" || error === expired);
    if (isAbort && !signal?.aborted && expired) throw expired;
    if (isAbort && signal?.aborted) throw abortReason(signal);
    throw error;
  } finally {
    clearTimeout(timer);
    stop();
  }
}

/**
 * Fetches, and reads the whole answer, within a time.
 * Errors: the caller's reason when it aborted, DeadlineError when the time was over, and TypeError where the
 * connection failed. Browsers, Node and React Native reject with TypeError and AbortError by themselves;
 * Expo's fetch, which replaces React Native's, rejects with an error of its own for both.
 * @example
 * const { text } = await fetchText(5_000, undefined, async () => new Response("hello"));
 */
export const fetchText = (
  milliseconds: number,
  signal: AbortSignal | undefined,
  send: (signal: AbortSignal) => Promise<Response>,
): Promise<{ response: Response; text: string }> =>
  withDeadline(milliseconds, signal, async (limit) => {
    try {
      const response = await send(limit);
      return { response, text: await response.text() };
    } catch (cause) {
      if (limit.aborted) throw abortReason(limit);
      throw cause instanceof TypeError ? cause : new TypeError("no connection", { cause });
    }
  });

/** Timers take no more, and end at once instead: a `Retry-After` may be longer. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits, for 24 days at most; rejects with the signal's reason as soon as it aborts. Leaves no listener on
 * the signal.
 * @example await sleepUnlessAborted(10, AbortSignal.timeout(60_000));
 */
export async function sleepUnlessAborted(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  throwIfAborted(signal);
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const timer = setTimeout(done, Math.min(milliseconds, LONGEST_TIMER_MS));
    const stop = onAbort(signal, done);
  });
  throwIfAborted(signal);
}
