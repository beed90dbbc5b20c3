interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/**
 * A clock that a test moves. Its `now` is a client's option of that name, and takes the place of `Date.now`.
 * @example
 * const clock = new TestClock("2030-01-01T12:00:00Z");
 * const client = new CountersignClient({ baseUrl, deviceKey, now: clock.now });
 * clock.advance(60_000);
 */
export class TestClock {
  #time: number;
  #sleepers: Sleeper[] = [];

  /** Creates a clock that shows `start`, or the time of now. */
  constructor(start: Date | string | number = Date.now()) {
    this.#time = new Date(start).getTime();
    if (Number.isNaN(this.#time)) throw new TypeError(`not a time: ${start}`);
  }

  /**
   * Returns the time in milliseconds since 1970, as `Date.now` does. It can be passed on without the clock.
   * @example new TestClock("2030-01-01T12:00:00Z").now(); // => Date.parse("2030-01-01T12:00:00Z")
   */
  readonly now = (): number => this.#time;

  /**
   * Moves the clock forward and wakes those whose time has come, the earliest first.
   * @example
   * const clock = new TestClock();
   * clock.advance(15 * 60_000); // the access token has expired
   */
  advance(milliseconds: number): void {
    if (!(milliseconds >= 0)) throw new RangeError("a clock is advanced by 0 ms or more; `set` moves it back");
    this.set(this.#time + milliseconds);
  }

  /**
   * Sets the clock, also back: a phone's clock may be wrong by years.
   * @example
   * const clock = new TestClock();
   * clock.set("2015-01-01T00:00:00Z");
   */
  set(time: Date | string | number): void {
    const next = new Date(time).getTime();
    if (Number.isNaN(next)) throw new TypeError(`not a time: ${time}`);
    this.#time = next;
    const due = this.#sleepers.filter(({ until }) => until <= next).sort((a, b) => a.until - b.until);
    this.#sleepers = this.#sleepers.filter(({ until }) => until > next);
    for (const { wake } of due) wake();
  }

  /**
   * Returns when the clock has been moved on by so many milliseconds. Rejects when the signal aborts.
   * @example
   * const clock = new TestClock();
   * const slept = clock.sleep(1_000);
   * clock.advance(1_000);
   * await slept;
   */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const aborted = () => {
        this.#sleepers = this.#sleepers.filter((each) => each !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener("abort", aborted);
        resolve();
      };
      const sleeper = { until: this.#time + milliseconds, wake };
      if (milliseconds <= 0) return resolve();
      signal?.addEventListener("abort", aborted, { once: true });
      this.#sleepers.push(sleeper);
    });
  }
}
