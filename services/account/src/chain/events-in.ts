import { type AccessApi, AccessApiError, type ChainEvent } from "@countersign/flow";

/** The node, as far as reading events needs it. */
export interface EventsAccess {
  readonly access: Pick<AccessApi, "events">;
  /** Reads longer answers, one at a time. */
  readonly longAnswers: Pick<AccessApi, "events" | "transactionIds" | "transactionEvents">;
}

/**
 * Returns whether the answer may have been too long, or too slow for it. A node that lacks the block or is
 * asked too often answers 4xx, and is asked again later: a block's transactions lack the system's events.
 */
const mayBeTooLong = (error: unknown): boolean =>
  error instanceof AccessApiError && (error.status === 0 || error.status >= 500);

/**
 * Returns what `read` makes of the events of some types in these blocks, both ends included. Anybody can fill
 * a block with more events than one answer may have: each type of which those of a single block are too many
 * is read again by itself, and if that is too much, from each transaction of the block.
 * Errors: AccessApiError.
 */
export async function eventsIn<T>(
  { access, longAnswers }: EventsAccess,
  types: readonly string[],
  { from, to }: { from: bigint; to: bigint },
  read: (event: ChainEvent) => T | undefined,
  signal: AbortSignal,
): Promise<T[]> {
  const wanted = (events: readonly ChainEvent[]) => events.flatMap((event) => read(event) ?? []);
  const isFinal = (error: unknown) => from < to || !mayBeTooLong(error);
  const attempts = types.map(async (type) => wanted(await access.events(type, from, to, signal)));
  await Promise.allSettled(attempts);
  const found: T[][] = [];
  for (const [i, type] of types.entries()) {
    try {
      found.push(await attempts[i]!);
      continue;
    } catch (error) {
      if (isFinal(error)) throw error;
    }
    try {
      found.push(wanted(await longAnswers.events(type, from, to, signal)));
    } catch (error) {
      if (isFinal(error)) throw error;
      for (const id of await longAnswers.transactionIds(from, signal))
        found.push(wanted(await longAnswers.transactionEvents(id, [type], signal)));
    }
  }
  return found.flat();
}
