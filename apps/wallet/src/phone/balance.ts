import { useEffect, useState } from "react";
import { readBalance } from "../acts/read-balance.ts";
import { network } from "../config.ts";
import { onTransaction } from "./history.tsx";

const AGAIN_MS = 4_000;

/** Reads the balance now, after each transaction of the page, and every few seconds. */
export function useBalance(address: string | undefined) {
  const [balance, setBalance] = useState<number>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    if (!address) return;
    // Of the account before nothing is shown beside the next one's address.
    let isOver = false;
    const read = () =>
      readBalance(network, address).then(
        (next) => {
          if (isOver) return;
          setBalance(next);
          setError(undefined);
        },
        (failure: unknown) => isOver || setError(failure),
      );
    void read();
    const stop = onTransaction(() => void read());
    const timer = setInterval(() => document.hidden || void read(), AGAIN_MS);
    return () => {
      isOver = true;
      stop();
      clearInterval(timer);
      setBalance(undefined);
      setError(undefined);
    };
  }, [address]);
  return { balance, error };
}

/** Returns an amount of tokens as the person's language writes it. */
export const formatAmount = (amount: number, language: string): string =>
  new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits: 4 }).format(amount);
