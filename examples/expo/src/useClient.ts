import type { Account, AccountEvent, CountersignClient, SessionState } from "@countersign/client";
import { useEffect, useState, useSyncExternalStore } from "react";
import { AppState } from "react-native";
import { openClient } from "./account";

const ignore = () => () => {};

/** Opens this phone's client once; undefined until then. */
export function useClient(): { client?: CountersignClient; error?: unknown } {
  const [opened, setOpened] = useState<{ client?: CountersignClient; error?: unknown }>({});
  useEffect(() => {
    openClient().then(
      (client) => setOpened({ client }),
      (error: unknown) => setOpened({ error }),
    );
  }, []);
  return opened;
}

/** Follows the session's state. */
export const useSessionState = (client: CountersignClient | undefined): SessionState =>
  useSyncExternalStore(client?.session.subscribe ?? ignore, () => client?.session.state ?? "signed-out");

/** Reads the account, and again after each event that may have changed it. */
export function useAccount(client: CountersignClient | undefined, isOpen: boolean, last: AccountEvent | undefined) {
  const [account, setAccount] = useState<Account>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: an event is the reason to read again
  useEffect(() => {
    let isOver = false;
    if (!isOpen) setAccount(undefined);
    else {
      // An answer that comes after a sign-out is not the next person's.
      client?.me().then(
        (read) => isOver || setAccount(read),
        () => undefined,
      );
    }
    return () => {
      isOver = true;
    };
  }, [client, isOpen, last]);
  return account;
}

/** Follows the account's events while the app is in the foreground; returns the last one. */
export function useEvents(client: CountersignClient | undefined, isOpen: boolean): AccountEvent | undefined {
  const [last, setLast] = useState<AccountEvent>();
  useEffect(() => {
    if (client === undefined || !isOpen) return;
    let listening: AbortController | undefined;
    const follow = async (signal: AbortSignal) => {
      for await (const event of client.events({ signal })) setLast(event);
    };
    const update = () => {
      if (AppState.currentState === "active" && listening === undefined) {
        listening = new AbortController();
        // Ends with an error when the session is over, which the session's state shows.
        follow(listening.signal).catch(() => undefined);
      } else if (AppState.currentState !== "active") {
        listening?.abort();
        listening = undefined;
      }
    };
    update();
    const subscription = AppState.addEventListener("change", update);
    return () => {
      subscription.remove();
      listening?.abort();
      setLast(undefined);
    };
  }, [client, isOpen]);
  return last;
}
