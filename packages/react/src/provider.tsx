import type { CountersignClient } from "@countersign/client";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useSyncExternalStore } from "react";
import { SharedEvents } from "./shared-events.ts";

interface Provided {
  client: CountersignClient;
  events: SharedEvents;
}

const Context = createContext<Provided | undefined>(undefined);

/** Props of `CountersignProvider`. */
export interface CountersignProviderProps {
  /** This device's client. Make one for the whole app. */
  client: CountersignClient;
  /** The part of the app that uses the hooks. */
  children?: ReactNode;
}

/**
 * Gives a device's client to the hooks and components below it. They share one stream of live events, which
 * is open while the session is and something follows it.
 * @example
 * const Address = () => <p>{useAccount().data?.addresses[0]?.address}</p>;
 * return (
 *   <CountersignProvider client={client}>
 *     <SignedIn><Address /></SignedIn>
 *   </CountersignProvider>
 * );
 */
export function CountersignProvider({ client, children }: CountersignProviderProps) {
  const { session } = client;
  const accountOf = () => session.accountId;
  const accountId = useSyncExternalStore(session.subscribe, accountOf, accountOf);
  // Hooks forget what they know with `events`: the next account is another person's.
  // biome-ignore lint/correctness/useExhaustiveDependencies: a stream is of one account
  const provided = useMemo(() => ({ client, events: new SharedEvents(client) }), [client, accountId]);
  useEffect(() => provided.events.connect(), [provided]);
  return <Context.Provider value={provided}>{children}</Context.Provider>;
}

/**
 * Says whose a call is: its outcome is not for another person, who signs in on the same page. A call that
 * began without a session belongs to the one that it opened. Without a provider all is one's own.
 */
export function useOwner() {
  const session = useContext(Context)?.client.session;
  const owner = useRef<string>(undefined);
  return useMemo(
    () => ({
      begin() {
        owner.current = session?.accountId;
      },
      end() {
        owner.current ??= session?.accountId;
      },
      isOwn: () => owner.current === undefined || owner.current === session?.accountId || session?.state === "ended",
    }),
    [session],
  );
}

/** Returns the provider's value, for the hooks of this package. */
export function useProvided(): Provided {
  const provided = useContext(Context);
  if (!provided) throw new Error("useClient and the other hooks need a CountersignProvider above them");
  return provided;
}

/**
 * Returns the device's client, for everything that has no hook of its own.
 * @example
 * const client = useClient();
 * const freeze = () => client.freeze();
 */
export const useClient = (): CountersignClient => useProvided().client;
