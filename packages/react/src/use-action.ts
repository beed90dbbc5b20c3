import { useCallback, useEffect, useRef, useState } from "react";
import { useOwner } from "./provider.tsx";

/** One act of the person: a button's work, with its outcome. */
export interface Action<Input extends unknown[], Result> {
  /**
   * Starts it. A call while it runs is ignored, as of a double click; failures are in `error`, never thrown.
   * @example const { run: freeze } = useAction(() => client.freeze());
   */
  run: (...input: Input) => Promise<Result | undefined>;
  /** Whether it runs. */
  isPending: boolean;
  /**
   * Of the last run; undefined before the first one, while it runs, after a failure, and once its person has
   * signed out.
   */
  result: Result | undefined;
  /** Of the last run, if it failed; undefined once its person has signed out. */
  error: unknown;
  /**
   * Forgets result and error; while it runs, nothing.
   * @example const { reset } = useAction(() => client.freeze());
   */
  reset: () => void;
}

/**
 * Runs a button's work and keeps its state, result and error.
 * @example
 * const client = useClient();
 * const { run, isPending, error } = useAction(() => client.freeze());
 * return <button disabled={isPending} onClick={() => run()}>Freeze</button>;
 */
export function useAction<Input extends unknown[], Result>(
  work: (...input: Input) => Promise<Result>,
): Action<Input, Result> {
  const [state, setState] = useState<{ isPending: boolean; result?: Result; error?: unknown }>({ isPending: false });
  const newest = useRef(work);
  const running = useRef(false);
  const owner = useOwner();
  useEffect(() => {
    newest.current = work;
  });
  const run = useCallback(
    async (...input: Input): Promise<Result | undefined> => {
      if (running.current) return undefined;
      running.current = true;
      owner.begin();
      setState({ isPending: true });
      try {
        const result = await newest.current(...input);
        setState({ isPending: false, result });
        return result;
      } catch (error) {
        setState({ isPending: false, error });
        return undefined;
      } finally {
        owner.end();
        running.current = false;
      }
    },
    [owner],
  );
  const reset = useCallback(() => setState((now) => (now.isPending ? now : { isPending: false })), []);
  const { result, error } = owner.isOwn() ? state : { result: undefined, error: undefined };
  return { run, isPending: state.isPending, result, error, reset };
}
