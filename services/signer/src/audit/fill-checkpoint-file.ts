import { readArchive } from "./archive.ts";
import type { BuildOptions } from "./build-checkpoint.ts";
import { checkpointHash, parseCheckpoint, readCheckpoint, type SignedCheckpoint } from "./checkpoint.ts";
import type { CheckpointFile } from "./checkpoint-file.ts";
import type { CheckpointStore } from "./checkpoint-store.ts";

interface FillOptions extends Pick<BuildOptions, "signer" | "alarm"> {
  readonly store: Pick<CheckpointStore, "after" | "lastArchive">;
}

const CHECKPOINTS_PER_PAGE = 1000;

/**
 * Returns the database's first checkpoints behind the file. Where those are in an archive, the file goes on
 * with the archive's last one, which the database keeps.
 */
async function readBehind({ store, signer }: FillOptions, to: CheckpointFile): Promise<SignedCheckpoint[]> {
  const { sequence } = to.last();
  const behind = await store.after(sequence, CHECKPOINTS_PER_PAGE);
  if (!behind[0] || parseCheckpoint(behind[0].text)?.sequence === sequence + 1) return behind;
  const signed = await store.lastArchive();
  const archive = signed && readArchive(signed, signer.keys);
  if (!archive || archive.sequence <= sequence) return behind;
  const kept = await store.after(archive.sequence - 1, CHECKPOINTS_PER_PAGE);
  if (!kept[0] || checkpointHash(kept[0].text) !== archive.hash) return behind;
  to.continueAt({ sequence: archive.sequence - 1, hash: parseCheckpoint(kept[0].text)!.previousHash });
  return kept;
}

/**
 * Appends the database's further checkpoints to the file, also those of other processes, if they continue
 * it: up to the last one that the audit key has signed, which names all before by its hash.
 */
export async function fillCheckpointFile(options: FillOptions, file: CheckpointFile): Promise<void> {
  const { store, signer, alarm } = options;
  for (;;) {
    const behind = await readBehind(options, file);
    const signed = behind.slice(0, behind.findLastIndex((each) => readCheckpoint(each, signer.keys)) + 1);
    if (signed.length < behind.length) alarm({}, "the database has checkpoints that the audit key has not signed");
    if (signed.length > 0) await file.append(signed);
    if (signed.length < CHECKPOINTS_PER_PAGE) break;
  }
  const { sequence, hash } = file.last();
  if (sequence === 0) return;
  const [same] = await store.after(sequence - 1, 1);
  if (!same || checkpointHash(same.text) !== hash) {
    alarm({ sequence }, "the database has lost or changed checkpoints that the file has");
  }
}
