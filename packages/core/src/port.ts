import { type PortMethodsArgument, withFaultPoints } from "./fault-points.ts";
import { withDurations } from "./outside-calls.ts";
import { withSpans } from "./tracing.ts";

/**
 * Makes the calls of a port visible: as spans, where the process exports traces, and as fault points, where
 * a test controls it. Otherwise it returns the port itself. `PortMethods` says which methods are left out.
 */
export function asPort<T extends object>(name: string, port: T, ...methods: PortMethodsArgument<T>): T {
  return withSpans(name, withFaultPoints(name, port, ...methods), methods[0] ?? {});
}

/**
 * Does the same for a port to another system than a database or a service of ours: chain, identity provider,
 * vault, push or mail. Its calls also are durations in the process's metrics.
 */
export function asOutsidePort<T extends object>(name: string, port: T, ...methods: PortMethodsArgument<T>): T {
  return asPort(name, withDurations(name, port, methods[0] ?? {}), ...methods);
}
