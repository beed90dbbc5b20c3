import { isAppError } from "./app-error.ts";
import { REASONS } from "./reasons.ts";
import { wrapMethods } from "./wrap-methods.ts";

/** Called at the end of each call: its duration, and whether the other side failed. */
export type ObserveCall = (seconds: number, failed: boolean) => void;

/** Returns the observer of the calls of a port's method. */
export type OutsideCallObserver = (port: string, method: string) => ObserveCall;

let observer: OutsideCallObserver | undefined;

/**
 * Observes the calls of ports to the outside; undefined: none. Call it before ports are made: earlier ones
 * stay as they are.
 */
export function observeOutsideCalls(by: OutsideCallObserver | undefined): void {
  observer = by;
}

/** Returns whether a call failed at the other side's fault: an answer such as "not accepted" did not. */
const isFailure = (error: unknown): boolean => !isAppError(error) || REASONS[error.reason].http >= 500;

/**
 * Times each call of a port's methods. `false` leaves a method as it is. Where the process observes none it
 * returns the port itself.
 */
export function withDurations<T extends object>(name: string, port: T, methods: Readonly<Record<string, unknown>>): T {
  const observerOf = observer;
  if (observerOf === undefined) return port;
  return wrapMethods(port, methods, (key, method) => {
    const observe = observerOf(name, key);
    return (...args) => {
      const started = performance.now();
      const seconds = () => (performance.now() - started) / 1_000;
      const result = method(...args) as Promise<unknown>;
      result.then(
        () => observe(seconds(), false),
        (error: unknown) => observe(seconds(), isFailure(error)),
      );
      return result;
    };
  });
}
