import { type ReactNode, useEffect, useState } from "react";
import { useClient } from "./provider.tsx";

/** Props of `TimeUntil`. */
export interface TimeUntilProps {
  /** When it is over (ISO 8601), such as `availableAt` of a time lock. */
  at: string;
  /**
   * Shows the seconds that are left.
   * @example return <TimeUntil at={timeLock.availableAt}>{(left) => `${left} s`}</TimeUntil>;
   */
  children: (secondsLeft: number) => ReactNode;
}

/**
 * Counts down to a time of the service, by the service's clock: this device's may be wrong.
 * @example
 * return <TimeUntil at={timeLock.availableAt}>{(left) => (left > 0 ? `${left} s` : "now")}</TimeUntil>;
 */
export function TimeUntil({ at, children }: TimeUntilProps): ReactNode {
  const { clock } = useClient();
  const [left, setLeft] = useState(() => clock.until(at));
  useEffect(() => {
    const update = () => setLeft(clock.until(at));
    update();
    const timer = setInterval(update, 250);
    return () => clearInterval(timer);
  }, [clock, at]);
  return children(Math.max(0, Math.ceil(left / 1000)));
}
