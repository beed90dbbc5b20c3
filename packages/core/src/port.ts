import { type FaultPointMethods, withFaultPoints } from "./fault-points.ts";
import { withSpans } from "./tracing.ts";

/**
 * Makes the calls of a port visible: as spans, where the process exports traces, and as fault points, where
 * a test controls it. Otherwise it returns the port itself. See `withFaultPoints` about `methods`.
 */
export function asPort<T extends object>(
  name: string,
  port: T,
  ...methods: Record<never, never> extends FaultPointMethods<T>
    ? [methods?: FaultPointMethods<T>]
    : [methods: FaultPointMethods<T>]
): T {
  return withSpans(name, withFaultPoints(name, port, ...methods), methods[0] ?? {});
}
