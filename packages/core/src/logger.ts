/** Writes one structured line: fields, if any, and then a fixed message. */
interface Write {
  (message: string): void;
  (fields: object, message: string): void;
}

/** The part of a logger that packages use to write lines; pino's loggers have this shape. */
export interface Logger {
  debug: Write;
  info: Write;
  warn: Write;
  error: Write;
  fatal: Write;
  /** Returns a logger that adds `fields` to each of its lines. */
  child(fields: Record<string, unknown>): Logger;
  isLevelEnabled(level: string): boolean;
}
