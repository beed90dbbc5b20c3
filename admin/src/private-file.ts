import { createHash } from "node:crypto";
import { open, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Writes a file that others cannot read; after an error it is not there. Errors: there is one already, which
 * is nobody's to overwrite.
 */
export async function writePrivateFile(
  path: string,
  write: (append: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await write((text) => file.writeFile(text));
    await file.sync();
  } catch (error) {
    await unlink(path);
    throw error;
  } finally {
    await file.close();
  }
}

/**
 * Waits until a file and its name are on the disk, and reads it back: returns the beginning of its text, and
 * the SHA-256 of all of it, in hex.
 */
export async function readDurably(path: string, headBytes: number): Promise<{ head: string; sha256: string }> {
  for (const each of [path, dirname(path)]) {
    const synced = await open(each, "r");
    await synced.sync().finally(() => synced.close());
  }
  const file = await open(path, "r");
  const digest = createHash("sha256");
  let [head, length] = [Buffer.alloc(0), 0];
  for await (const chunk of file.createReadStream() as AsyncIterable<Buffer>) {
    digest.update(chunk);
    if (length < headBytes) head = Buffer.concat([head, chunk]);
    length += chunk.length;
  }
  return { head: head.toString("utf8"), sha256: digest.digest("hex") };
}
