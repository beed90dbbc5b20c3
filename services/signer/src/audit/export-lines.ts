/** The first line of an export of the audit log, or of an archive. */
export const EXPORT_FORMAT = "countersign-audit-export-2";
export const BEGIN = "begin ";
export const UNTIL = /^until (\d{1,15})$/;
export const CHECKPOINT = "checkpoint ";
export const CHAIN = /^chain ([0-9a-f-]{36}) (\d{1,15}) ([0-9a-f]{64}) (\{.*\})$/;
export const BATCH = /^batch (\d{1,15}) (\S{24}) ([0-9a-f]*)$/;
/** A record's line begins with its hash. */
export const HASH_HEX_DIGITS = 64;
const NEWLINE_BYTE = 10;

/** Returns whether a line is a record's: its hash, a blank, and a JSON array. */
export const isRecord = (line: Buffer): boolean => line[HASH_HEX_DIGITS] === 32 && line[HASH_HEX_DIGITS + 1] === 91;

/** Returns whether a line comes behind all checkpoints. */
export const isAfterCheckpoints = (line: Buffer): boolean => hasAt(line, 0, "chain ") || hasAt(line, 0, "end");

export const hasAt = (bytes: Buffer, at: number, text: string): boolean =>
  bytes.toString("latin1", at, at + text.length) === text;

/** Yields lines without their ends, as many at once as there are; a last one without an end is given too. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    const lines: Buffer[] = [];
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE_BYTE); end >= 0; end = bytes.indexOf(NEWLINE_BYTE, from)) {
      lines.push(bytes.subarray(from, end));
      from = end + 1;
    }
    rest = bytes.subarray(from);
    yield lines;
  }
  if (rest.length > 0) yield [rest];
}
