import { open } from "node:fs/promises";

/** Writes a file that others cannot read. Errors: there is one already, which is nobody's to overwrite. */
export async function writePrivateFile<T>(
  path: string,
  write: (append: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  const file = await open(path, "wx", 0o600);
  try {
    const result = await write((text) => file.writeFile(text));
    await file.sync();
    return result;
  } finally {
    await file.close();
  }
}
