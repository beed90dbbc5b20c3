import { isAppError } from "./app-error.ts";
import { REASONS } from "./reasons.ts";
import { wrapMethods } from "./wrap-methods.ts";

/** Called with the end of each call: its duration, and whether the other side failed. */
export type RecordOutsideCall = (seconds: number, failed: boolean) => void;

/** Returns what records the calls of a port's method. */
export type OutsideCallRecorder = (port: string, method: string) => RecordOutsideCall;

let recorder: OutsideCallRecorder | undefined;

/**
 * Records the calls of ports to the outside from now on; undefined: none. The ports of a process are made
 * after this.
 */
export function recordOutsideCalls(by: OutsideCallRecorder | undefined): void {
  recorder = by;
}

/** Returns whether a call failed at the other side's fault: an answer such as "not accepted" did not. */
const isFailure = (error: unknown): boolean => !isAppError(error) || REASONS[error.reason].http >= 500;

/**
 * Times each call of a port's methods. `false` leaves out a method that returns no promise. Where the process
 * records none it returns the port itself.
 */
export function withDurations<T extends object>(name: string, port: T, methods: Readonly<Record<string, unknown>>): T {
  const recording = recorder;
  if (recording === undefined) return port;
  return wrapMethods(port, methods, (key, method) => {
    const record = recording(name, key);
    return (...args) => {
      const started = performance.now();
      const seconds = () => (performance.now() - started) / 1_000;
      const result = method(...args) as Promise<unknown>;
      result.then(
        () => record(seconds(), false),
        (error: unknown) => record(seconds(), isFailure(error)),
      );
      return result;
    };
  });
}
