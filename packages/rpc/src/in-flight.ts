/** Holds entries that wait for an answer, by a number that is never used twice. */
export class InFlight<Entry extends { id: number }> {
  readonly #entries = new Map<number, Entry>();
  #lastId = 0;

  /** Adds an entry and sets its number. */
  add(entry: Entry): number {
    this.#lastId += 1;
    entry.id = this.#lastId;
    this.#entries.set(entry.id, entry);
    return entry.id;
  }

  /** Removes and returns the entry of this number; undefined if it is not in flight. */
  take(id: number): Entry | undefined {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    return entry;
  }

  /** Returns the entries in flight, in the order of their numbers. */
  all(): Entry[] {
    return [...this.#entries.values()];
  }
}
