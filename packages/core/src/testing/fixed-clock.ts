import type { Clock } from "../clock.ts";

/** A clock for tests: it shows the same time until it is moved. */
export class FixedClock implements Clock {
  private time: number;

  constructor(start: Date | string = "2026-01-01T00:00:00Z") {
    this.time = new Date(start).getTime();
  }

  now(): Date {
    return new Date(this.time);
  }

  /** Moves by milliseconds. */
  advance(milliseconds: number): void {
    this.time += milliseconds;
  }

  set(time: Date | string): void {
    this.time = new Date(time).getTime();
  }
}
