const FIRST_SLOTS = 256;

/**
 * Holds entries that wait for an answer, by a number that is never used twice.
 *
 * A Map would be simpler, but one that is filled and emptied all the time leaves its old tables behind, each
 * of which refers to the next one. As soon as one of them is in V8's old generation, everything that was ever
 * in flight stays alive until the whole heap is marked, several times a second (docs/performance.md).
 */
export class InFlight<Entry extends { id: number }> {
  /** An entry's slot is its number modulo the length, a power of two. */
  #slots: (Entry | undefined)[] = emptySlots(FIRST_SLOTS);
  #size = 0;
  #lastId = 0;

  /** Adds an entry and sets its number. */
  add(entry: Entry): number {
    if (this.#size * 2 >= this.#slots.length) this.#grow();
    do this.#lastId += 1;
    while (this.#slots[this.#slotOf(this.#lastId)] !== undefined);
    entry.id = this.#lastId;
    this.#slots[this.#slotOf(entry.id)] = entry;
    this.#size += 1;
    return entry.id;
  }

  /** Removes and returns the entry of this number; undefined if it is not in flight. */
  take(id: number): Entry | undefined {
    const slot = this.#slotOf(id);
    const entry = this.#slots[slot];
    if (entry === undefined || entry.id !== id) return undefined;
    this.#slots[slot] = undefined;
    this.#size -= 1;
    return entry;
  }

  /** Returns the entries in flight, in the order of their numbers. */
  all(): Entry[] {
    return this.#slots.filter((entry) => entry !== undefined).sort((a, b) => a.id - b.id);
  }

  // A remainder, since numbers grow beyond the 32 bits of a bitwise operator.
  #slotOf(id: number): number {
    return id % this.#slots.length;
  }

  #grow(): void {
    const entries = this.all();
    this.#slots = emptySlots(this.#slots.length * 2);
    for (const entry of entries) this.#slots[this.#slotOf(entry.id)] = entry;
  }
}

const emptySlots = (length: number) => new Array<undefined>(length).fill(undefined);
