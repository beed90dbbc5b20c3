import type { SessionEndedError, SessionState } from "@countersign/client";
import type { ReactNode } from "react";
import { useSyncExternalStore } from "react";
import { useClient } from "./provider.tsx";

/**
 * Returns the session's state and, where the service ended it, the reason; renders again when it changes.
 * @example
 * const { state, endedBy } = useSession();
 * if (state === "ended") return <p>Sign in again: {endedBy?.title}</p>;
 */
export function useSession(): { state: SessionState; endedBy: SessionEndedError | undefined } {
  const { session } = useClient();
  // A server has no session, and a browser's first render has to be as the server's.
  const onServer = (): SessionState => "signed-out";
  const state = useSyncExternalStore(session.subscribe, () => session.state, onServer);
  return { state, endedBy: session.endedBy };
}

/** Props of `SignedIn` and `SignedOut`. */
export interface GateProps {
  /** Shown in that state only. */
  children?: ReactNode;
}

const isOpen = (state: SessionState): boolean => state === "signed-in" || state === "frozen";

/**
 * Shows its children while there is a session, also of a frozen account.
 * @example return <SignedIn>Welcome back</SignedIn>;
 */
export const SignedIn = ({ children }: GateProps): ReactNode => (isOpen(useSession().state) ? children : null);

/**
 * Shows its children while there is no session, also while one is being opened.
 * @example return <SignedOut>Sign up or in</SignedOut>;
 */
export const SignedOut = ({ children }: GateProps): ReactNode => (isOpen(useSession().state) ? null : children);
