/** Candidates that are read for each one that is wanted: other replicas read the same ones. */
const CANDIDATES = 4;

/**
 * Claims at most `limit` rows without locking them first, which no statement over several nodes can do:
 * `find` reads candidates, and `claim` changes one by its key, or returns undefined where another replica was
 * first. In random order, so that replicas seldom try the same ones.
 */
export async function claimRows<T, R>(
  limit: number,
  find: (count: number) => Promise<readonly T[]>,
  claim: (candidate: T) => Promise<R | undefined>,
): Promise<R[]> {
  const claimed: R[] = [];
  const candidates = await find(CANDIDATES * limit);
  const shuffled = candidates.map((each) => ({ each, at: Math.random() })).sort((a, b) => a.at - b.at);
  for (const { each } of shuffled) {
    if (claimed.length === limit) break;
    const row = await claim(each);
    if (row !== undefined) claimed.push(row);
  }
  return claimed;
}
