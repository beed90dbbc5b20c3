import type { Stack } from "@countersign/local-stack/stack-file.ts";
import type { Measured } from "../load.ts";
import type { createLogins, Resident } from "../people.ts";

/** What a case gets. */
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
  /** The row that this one is compared with. */
  floor?: string;
  /** The least share of the floor that we mean to reach. */
  goal?: number;
  /** The least operations per second that we mean to reach. */
  goalPerSecond?: number;
  /** The most milliseconds of p99 that we mean to need. */
  goalP99?: number;
  /** Processor seconds per operation of each process, in microseconds. */
  cpu?: Record<string, number>;
}

export type Case = (bench: Bench) => Promise<Row[]>;
