import type { AccountEvent } from "@countersign/client";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { useProvided } from "./provider.tsx";

/**
 * Calls `listener` with each event of the account while the component is shown and the session is open. After
 * "stream.reset" events may be missing; the hooks of this package then read their data again by themselves.
 * @example
 * useAccountEvents((event) => {
 *   if (event.type === "two-factor.requested") show("A device asks to be enrolled");
 * });
 */
export function useAccountEvents(listener: (event: AccountEvent) => void): void {
  const { events } = useProvided();
  const newest = useRef(listener);
  useEffect(() => {
    newest.current = listener;
  });
  useEffect(() => events.listen((event) => newest.current(event)), [events]);
}

/**
 * Returns whether the stream of live events is connected: false while the device is offline, until a first
 * answer, and where nothing follows the events.
 * @example const Live = () => <p>{useIsLive() ? "Live" : "Connecting …"}</p>;
 */
export function useIsLive(): boolean {
  const { events } = useProvided();
  const isLive = () => events.isLive;
  return useSyncExternalStore(events.watch, isLive, isLive);
}
