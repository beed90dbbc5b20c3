import {
  type CountersignClient,
  type SendTransactionOptions,
  type SentTransaction,
  sendTransaction,
  type TransactionDescription,
  type TransactionStep,
} from "@countersign/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useOwner, useProvided } from "./provider.tsx";
import { useAction } from "./use-action.ts";

/**
 * Thrown in a transaction's call where the person declined it: nothing was signed.
 * @example
 * const { error } = useTransaction();
 * if (error instanceof DeclinedError) return <p>Nothing was signed</p>;
 */
export class DeclinedError extends Error {
  override readonly name = "DeclinedError";
}

/** A transaction that waits for the person's decision. */
export interface Confirmation {
  /** All that it does, read from the bytes that will be signed. */
  description: TransactionDescription;
  /**
   * Signs and sends it.
   * @example
   * const { confirmation } = useTransaction();
   * return <button onClick={confirmation?.approve}>Sign</button>;
   */
  approve: () => void;
  /**
   * Ends the call with DeclinedError.
   * @example
   * const { confirmation } = useTransaction();
   * return <button onClick={confirmation?.decline}>Decline</button>;
   */
  decline: () => void;
}

/** The options of a call that the hook sets itself. */
export type TransactionHooks = Required<Pick<SendTransactionOptions, "confirm" | "onStatus">>;

/** How `useTransaction` sends: with these hooks, `sendTransaction`, `sendKeyChange` or another function. */
export type Send<Input> = (
  client: CountersignClient,
  input: Input,
  hooks: TransactionHooks,
) => Promise<SentTransaction>;

/** A transaction from the person's decision to its seal. */
export interface TransactionState<Input> {
  /**
   * Builds the transaction and asks the person; after `approve` it is signed and sent.
   * @example const { send } = useTransaction();
   */
  send: (input: Input) => Promise<SentTransaction | undefined>;
  /** The question to the person; undefined while nothing waits for a decision. */
  confirmation: Confirmation | undefined;
  /** How far it is; undefined before the first one. */
  step: TransactionStep | undefined;
  /** Whether it is under way. */
  isPending: boolean;
  /** The sealed transaction. */
  result: SentTransaction | undefined;
  /** The failure; a declined transaction has DeclinedError. */
  error: unknown;
  /**
   * Forgets the last one.
   * @example const { reset } = useTransaction();
   */
  reset: () => void;
}

type Options = Omit<SendTransactionOptions, "confirm" | "onStatus">;

const sendOptions: Send<Options> = (client, options, hooks) => sendTransaction(client, { ...options, ...hooks });

/**
 * Sends transactions with a dialog of the app's own: `confirmation` is the question, `step` the progress.
 * `send` takes the options of `sendTransaction`; give another function to send key changes or links.
 * @example
 * const { send, confirmation, step } = useTransaction();
 * const pay = () => send({ network, cadence, args });
 * if (confirmation) return <button onClick={confirmation.approve}>{confirmation.description.text}</button>;
 * return <button onClick={pay}>Pay</button>;
 */
export function useTransaction(): TransactionState<Options>;
export function useTransaction<Input>(send: Send<Input>): TransactionState<Input>;
export function useTransaction(by: Send<never> = sendOptions): TransactionState<never> {
  const { client, events } = useProvided();
  const [step, setStep] = useState<TransactionStep>();
  const [confirmation, setConfirmation] = useState<Confirmation>();
  const waiting = useRef<() => void>(undefined);
  const isShown = useRef(false);
  // Of one person's transaction nothing is shown to the next, nor is that one asked.
  const owner = useOwner();
  // A question that nobody can answer any more, or another person would, is declined.
  // biome-ignore lint/correctness/useExhaustiveDependencies: `events` are of one account
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
      waiting.current?.();
    };
  }, [events]);

  const confirm = async (description: TransactionDescription) => {
    try {
      await new Promise<void>((approve, reject) => {
        const decline = () => reject(new DeclinedError("the person declined the transaction"));
        if (!isShown.current || !owner.isOwn()) return decline();
        waiting.current = decline;
        setConfirmation({ description, approve, decline });
      });
    } finally {
      waiting.current = undefined;
      setConfirmation(undefined);
    }
  };
  const {
    run,
    reset: forget,
    ...action
  } = useAction((input: never) => {
    setStep(undefined);
    owner.begin();
    // Where the call ends before the answer, by its signal or its time, the question is over too.
    return by(client, input, { confirm, onStatus: setStep }).finally(() => waiting.current?.());
  });
  const { isPending } = action;
  const reset = useCallback(() => {
    if (!isPending) setStep(undefined);
    forget();
  }, [isPending, forget]);
  const shown = owner.isOwn() ? { confirmation, step } : { confirmation: undefined, step: undefined };
  return { send: run, ...shown, reset, ...action };
}
