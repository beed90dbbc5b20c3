import type {
  Account,
  AccountEvent,
  CountersignClient,
  Device,
  Key,
  Network,
  Session,
  TimeLock,
  TwoFactorAuth,
} from "@countersign/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useProvided } from "./provider.tsx";
import { useAccountEvents } from "./use-events.ts";
import { useSession } from "./use-session.ts";

/** Data of the service, as far as it is known. */
export interface Resource<Data> {
  /** The newest answer; undefined until there is one. */
  data: Data | undefined;
  /** The newest failure; undefined after an answer. */
  error: unknown;
  /** Whether an answer is on its way. */
  isLoading: boolean;
  /**
   * Reads again.
   * @example const { reload } = useDevices();
   */
  reload: () => Promise<void>;
}

const UNKNOWN = { data: undefined, error: undefined, isLoading: true };

/**
 * Reads data of the service while there is a session, again after each event of these types, and once the
 * events are connected. `read` must not change with each render: write it outside of the component, or use
 * `useCallback`.
 * @example
 * const readSessions = (client: CountersignClient) => client.sessions();
 * const { data, isLoading, error } = useResource(readSessions, ["session.ended"]);
 */
export function useResource<Data>(
  read: (client: CountersignClient) => Promise<Data>,
  after: readonly AccountEvent["type"][],
): Resource<Data> {
  const { client, events } = useProvided();
  const { state } = useSession();
  const isOpen = state === "signed-in" || state === "frozen";
  const [known, setKnown] = useState<Omit<Resource<Data>, "reload">>(UNKNOWN);
  const [of, setOf] = useState(events);
  if (of !== events) {
    // `events` are of one account: the next one's person must not see this data, not even for one frame.
    setOf(events);
    setKnown(UNKNOWN);
  }
  // An answer to an older question than the one whose answer is shown is late.
  const asked = useRef(0);
  const shown = useRef(0);
  const reload = useCallback(async () => {
    asked.current += 1;
    const own = asked.current;
    setKnown((before) => ({ ...before, isLoading: true }));
    const next = await read(client).then(
      (data) => ({ data, error: undefined }),
      (error: unknown) => ({ error }),
    );
    if (own <= shown.current) return;
    shown.current = own;
    setKnown((before) => ({ ...before, ...next, isLoading: own < asked.current }));
  }, [client, read]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `events` are of one account
  useEffect(() => {
    if (isOpen) void reload();
    return () => {
      shown.current = asked.current;
      setKnown(UNKNOWN);
    };
  }, [isOpen, reload, events]);
  // A stream begins with what happens from then on, and while it was not connected a read may have failed.
  useEffect(() => events.watch(() => void (events.isLive && reload())), [events, reload]);
  useAccountEvents(({ type }) => {
    if (isOpen && (type === "stream.reset" || after.includes(type))) void reload();
  });
  return { ...known, reload };
}

const readAccount = (client: CountersignClient) => client.me();
const readDevices = (client: CountersignClient) => client.devices();
const readKeys = (client: CountersignClient) => client.keys();
const readNetworks = (client: CountersignClient) => client.networks();
const readPending = (client: CountersignClient) => client.pendingTwoFactor();
const readSessions = (client: CountersignClient) => client.sessions();
const readTimeLocks = (client: CountersignClient) => client.timeLocks();

/**
 * Returns the account with its addresses and parents.
 * @example const addresses = useAccount().data?.addresses.map(({ address }) => address);
 */
export const useAccount = (): Resource<Account> => useResource(readAccount, ["account.updated"]);

/**
 * Returns the devices of the account.
 * @example const names = useDevices().data?.map(({ name }) => name);
 */
export const useDevices = (): Resource<Device[]> =>
  useResource(readDevices, ["device.updated", "two-factor.finished", "key.added", "key.revoked"]);

/**
 * Returns the account's active keys on all chains.
 * @example const recovery = useKeys().data?.find(({ type }) => type === "recover-key");
 */
export const useKeys = (): Resource<Key[]> =>
  useResource(readKeys, ["key.added", "key.revoked", "key.discovered", "two-factor.finished"]);

/**
 * Returns the service's chains, as `useTransaction` takes them.
 * @example const network = useNetworks().data?.[0];
 */
export const useNetworks = (): Resource<Network[]> => useResource(readNetworks, []);

/**
 * Returns the requests of new devices that wait for a decision, newest first.
 * @example const [request] = usePendingTwoFactor().data ?? [];
 */
export const usePendingTwoFactor = (): Resource<TwoFactorAuth[]> =>
  useResource(readPending, [
    "two-factor.requested",
    "two-factor.approved",
    "two-factor.rejected",
    "two-factor.expired",
    "two-factor.finished",
    "two-factor.failed",
  ]);

/**
 * Returns the live sessions of the account, on all of its devices.
 * @example const count = useSessions().data?.length;
 */
export const useSessions = (): Resource<Session[]> => useResource(readSessions, ["session.ended", "device.updated"]);

/**
 * Returns the time locks of key changes, newest first.
 * @example const waiting = useTimeLocks().data?.filter(({ cancelledAt }) => cancelledAt === "");
 */
export const useTimeLocks = (): Resource<TimeLock[]> =>
  useResource(readTimeLocks, ["time-lock.started", "time-lock.cancelled", "key.added", "key.revoked"]);
