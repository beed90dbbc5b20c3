/** Keys that are tried in one turn of the event loop: a few milliseconds with the slowest algorithm. */
const KEYS_PER_TURN = 4;

/**
 * Returns the first candidate that has signed, by `hasSigned`, which verifies signatures with its key. Other
 * requests are served after every few candidates: a signature does not say whose it is, and an account may
 * have dozens of keys.
 */
export async function findSigner<Candidate>(
  candidates: readonly Candidate[],
  hasSigned: (candidate: Candidate) => boolean,
): Promise<Candidate | undefined> {
  for (let start = 0; start < candidates.length; start += KEYS_PER_TURN) {
    if (start > 0) await new Promise(setImmediate);
    const found = candidates.slice(start, start + KEYS_PER_TURN).find(hasSigned);
    if (found) return found;
  }
  return undefined;
}
