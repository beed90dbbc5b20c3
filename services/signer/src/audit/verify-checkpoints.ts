import {
  type AuditPublicKeys,
  allHeadsHash,
  type Checkpoint,
  checkpointHash,
  FIRST_PREVIOUS_HASH,
  parseCheckpoint,
  type SignedCheckpoint,
  type SignedHead,
  verifyCheckpoint,
} from "./checkpoint.ts";

/** What checkpoints from several places say together. */
export interface KnownCheckpoints {
  readonly problems: readonly string[];
  readonly count: number;
  readonly last: Checkpoint | undefined;
  /** Of each chain, where it stood, in the order of its growth. */
  readonly heads: ReadonlyMap<string, readonly SignedHead[]>;
}

/**
 * Checks checkpoints of one or more places (an export, files, the stream) as one row from the first: none missing, none contradicting, each continuing the
 * one before, the last signed by the audit key, which vouches for all before it.
 */
export function verifyCheckpoints(
  places: readonly { readonly name: string; readonly checkpoints: Iterable<SignedCheckpoint> }[],
  keys: AuditPublicKeys,
): KnownCheckpoints {
  const problems: string[] = [];
  const row = new Map<number, { signed: SignedCheckpoint; checkpoint: Checkpoint }>();
  for (const { name, checkpoints } of places) {
    let ordinal = 0;
    for (const signed of checkpoints) {
      ordinal += 1;
      const checkpoint = parseCheckpoint(signed.text);
      if (!checkpoint) {
        problems.push(`${name}: checkpoint in place ${ordinal} is unreadable`);
        continue;
      }
      const known = row.get(checkpoint.sequence);
      if (!known) row.set(checkpoint.sequence, { signed, checkpoint });
      else if (known.signed.text !== signed.text)
        problems.push(`${name}: checkpoint ${checkpoint.sequence} is another one than elsewhere`);
    }
  }

  const heads = new Map<string, SignedHead[]>();
  let newest = 0;
  for (const sequence of row.keys()) newest = Math.max(newest, sequence);
  let previous = { hash: FIRST_PREVIOUS_HASH, known: true };
  let last: { signed: SignedCheckpoint; checkpoint: Checkpoint } | undefined;
  for (let sequence = 1; sequence <= newest; sequence += 1) {
    const each = row.get(sequence);
    if (!each) {
      problems.push(`checkpoint ${sequence} is missing`);
      previous = { hash: "", known: false };
      continue;
    }
    const { signed, checkpoint } = each;
    if (previous.known && checkpoint.previousHash !== previous.hash)
      problems.push(`checkpoint ${sequence} does not continue the one before`);
    // Where the row is broken, nobody later vouches for this one.
    const next = row.get(sequence + 1);
    const vouched = next?.checkpoint.previousHash === checkpointHash(signed.text);
    if (!vouched && !verifyCheckpoint(signed, checkpoint.keyVersion, keys))
      problems.push(`checkpoint ${sequence} is not signed by the audit key`);
    for (const head of checkpoint.heads) {
      const known = heads.get(head.chainId);
      if (!known) heads.set(head.chainId, [head]);
      else if (known.at(-1)!.size < head.size) known.push(head);
      else problems.push(`checkpoint ${sequence} takes chain ${head.chainId} back`);
    }
    previous = { hash: checkpointHash(signed.text), known: true };
    last = each;
  }
  if (last) {
    const ends = [...heads.values()].map((each) => each.at(-1)!);
    if (ends.length !== last.checkpoint.chainCount || allHeadsHash(ends) !== last.checkpoint.headsHash)
      problems.push(`checkpoint ${last.checkpoint.sequence} vouches for other heads than those before it name`);
  }
  return { problems, count: row.size, last: last?.checkpoint, heads };
}
