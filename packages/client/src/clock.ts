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
   * Returns the milliseconds until a time that the server gave, such as `availableAt`; 0 once it has surely
   * come, up to a second after it.
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
  /** The server's time is this device's and so much more, or up to a second later. */
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
    return Math.max(0, Date.parse(time) - this.#local() - (this.#offset ?? 0)) || 0;
  }
}
