import { type CountersignClient, type DeviceAttributes, type Login, ProblemError } from "@countersign/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useClient } from "./provider.tsx";

/** Options of `useOpenAccount`. */
export interface OpenAccountOptions {
  /** The chain of the account. */
  chainName: string;
  /** Has the person log in at the identity provider, with this nonce. */
  logIn: (request: { nonce: string }) => Promise<Login>;
  /** This device, as its person will read of it. */
  device?: DeviceAttributes;
}

/** How far the opening of an account is. */
export type OpeningState =
  | { step: "idle" | "logging-in" | "opening" }
  /** Another device has to approve this one: show the code. */
  | { step: "enrolling"; matchingCode: string; expiresAt: string }
  | { step: "failed"; error: unknown };

const isProblem = (error: unknown, code: string): boolean => error instanceof ProblemError && error.error === code;

/**
 * Opens a session with one login, as the person needs it: signs up; signs in where the account and this key
 * exist; enrolls this device where the account is on other devices.
 * @example
 * const logIn = ({ nonce }: { nonce: string }) => openLogin({ maxAge: 300, nonce });
 * const { open, state } = useOpenAccount({ chainName: "flow-mainnet", logIn });
 * if (state.step === "enrolling") return <MatchingCode code={state.matchingCode} />;
 * return <button onClick={() => open()}>Continue</button>;
 */
export function useOpenAccount(options: OpenAccountOptions) {
  const client = useClient();
  const [state, setState] = useState<OpeningState>({ step: "idle" });
  const under = useRef<AbortController>(undefined);
  useEffect(() => () => under.current?.abort(), []);
  const open = async (): Promise<void> => {
    under.current?.abort();
    const own = new AbortController();
    under.current = own;
    const show = (next: OpeningState) => own.signal.aborted || setState(next);
    try {
      show({ step: "logging-in" });
      const login = await options.logIn({ nonce: client.loginNonce });
      if (own.signal.aborted) return;
      show({ step: "opening" });
      await openWith(client, login, options, own.signal, show);
      show({ step: "idle" });
    } catch (error) {
      show({ step: "failed", error });
    }
  };
  const cancel = useCallback(() => {
    under.current?.abort();
    setState({ step: "idle" });
  }, []);
  return { state, open, cancel };
}

async function openWith(
  client: CountersignClient,
  login: Login,
  { chainName, device }: OpenAccountOptions,
  signal: AbortSignal,
  show: (state: OpeningState) => void,
): Promise<void> {
  const described = device && { device };
  try {
    await client.signUp({ login, chainName, ...described });
    return;
  } catch (error) {
    if (signal.aborted || !isProblem(error, "AccountExists")) throw error;
  }
  try {
    await client.signIn({ login, chainName });
    return;
  } catch (error) {
    if (signal.aborted || !isProblem(error, "PleaseRegisterKey")) throw error;
  }
  const requested = await client.requestTwoFactor({ login, chainName, ...described });
  const { expiresAt } = requested.twoFactorAuth;
  show({ step: "enrolling", matchingCode: client.matchingCode(), expiresAt });
  await client.waitForTwoFactor(requested, { signal, signIn: { login, chainName } });
}
