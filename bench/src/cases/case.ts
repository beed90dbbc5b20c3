import type { Stack } from "@countersign/local-stack/stack-file.ts";
import type { Measured } from "../load.ts";
import type { createLogins, Resident } from "../people.ts";

/** The parameters of a case. */
export interface Bench {
  stack: Stack;
  seconds: number;
  warmUpSeconds: number;
  connections: number;
  logins: ReturnType<typeof createLogins>;
  residents: readonly Resident[];
  say(line: string): void;
}

/** One line of the result. */
export interface Row {
  name: string;
  measured: Measured;
  /** Name of the row that this one is compared with. */
  floor?: string;
  /** Goal: at least this share of the floor. */
  goal?: number;
  /** Goal: at least so many operations per second. */
  goalPerSecond?: number;
  /** Goal: a p99 of at most so many milliseconds. */
  goalP99?: number;
  /** Processor time per operation of each process, in microseconds. */
  cpu?: Record<string, number>;
}

export type Case = (bench: Bench) => Promise<Row[]>;
