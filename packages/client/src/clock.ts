/** The server's time, as far as a client knows it: phones and laptops are often minutes or days off. */
export interface ServerClock {
  /**
   * Whether an answer has shown the server's time. Until then `now` is this device's.
   * @example if (!client.clock.isKnown) await client.me();
   */
  readonly isKnown: boolean;
  /**
   * Returns the server's time in milliseconds since 1970.
   * @example const today = new Date(client.clock.now());
   */
  now(): number;
  /**
   * Returns the milliseconds until a time that the server gave, such as `availableAt`; 0 once it has come.
   * Never too early; late by at most a second and what the last answer took. Before the first answer, and
   * after this device's clock was set, that clock decides. Infinity for a text that is no time.
   * @example setTimeout(() => show("Now it is possible"), client.clock.until(timeLock.availableAt));
   */
  until(time: string): number;
}

/**
 * Learns the server's time from the `Date` header of its answers (RFC 9110, section 6.6.1), which has whole
 * seconds only, rounded down.
 */
export class CorrectedClock implements ServerClock {
  readonly #local: () => number;
  /**
   * Milliseconds by which the server's clock is ahead, or less: by up to a second, and by the time that the
   * answer took.
   */
  #offset: number | undefined;

  constructor(local: () => number) {
    this.#local = local;
  }

  get isKnown(): boolean {
    return this.#offset !== undefined;
  }

  /** Notes a `Date` header. */
  note(date: string | null): void {
    const time = date === null ? Number.NaN : Date.parse(date);
    if (!Number.isNaN(time)) this.#offset = time - this.#local();
  }

  now(): number {
    return this.#local() + (this.#offset === undefined ? 0 : this.#offset + 500);
  }

  until(time: string): number {
    const at = Date.parse(time);
    return Number.isNaN(at) ? Number.POSITIVE_INFINITY : Math.max(0, at - this.#local() - (this.#offset ?? 0));
  }
}
