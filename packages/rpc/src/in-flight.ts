const FIRST_PLACES = 256;

/**
 * Holds entries that wait for an answer, by a number that is never used twice. A Map that is filled and
 * emptied all the time leaves its old tables behind, each of which refers to the next: once one of them is in
 * the old generation, V8 keeps every entry that was ever in flight until it marks the whole heap
 * (docs/performance.md).
 */
export class InFlight<Entry extends { id: number }> {
  /** The place of an entry is its number modulo the length, a power of two. */
  #places: (Entry | undefined)[] = new Array<Entry | undefined>(FIRST_PLACES).fill(undefined);
  #size = 0;
  #lastId = 0;

  /** Adds an entry and sets its number. */
  add(entry: Entry): number {
    if (this.#size * 2 >= this.#places.length) this.#grow();
    do this.#lastId += 1;
    while (this.#places[this.#placeOf(this.#lastId)] !== undefined);
    entry.id = this.#lastId;
    this.#places[this.#placeOf(entry.id)] = entry;
    this.#size += 1;
    return entry.id;
  }

  /** Removes and returns the entry of this number; undefined if it is not in flight. */
  take(id: number): Entry | undefined {
    const place = this.#placeOf(id);
    const entry = this.#places[place];
    if (entry === undefined || entry.id !== id) return undefined;
    this.#places[place] = undefined;
    this.#size -= 1;
    return entry;
  }

  /** Returns the entries in flight, in the order of their numbers. */
  all(): Entry[] {
    return this.#places.filter((entry) => entry !== undefined).sort((a, b) => a.id - b.id);
  }

  #placeOf(id: number): number {
    return id & (this.#places.length - 1);
  }

  #grow(): void {
    const all = this.all();
    this.#places = new Array<Entry | undefined>(this.#places.length * 2).fill(undefined);
    for (const entry of all) this.#places[this.#placeOf(entry.id)] = entry;
  }
}
