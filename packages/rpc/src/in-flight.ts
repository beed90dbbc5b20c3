const FIRST_PLACES = 256;

/**
 * What waits for an answer, by a number that never comes twice. Like a Map, but one that is filled and emptied all the time leaves its old tables behind, each of which leads to the next: once
 * one of them is old, V8 keeps whatever was ever under way, until it marks the whole heap (docs/performance.md).
 */
export class InFlight<Entry extends { id: number }> {
  /** An entry's place is its number modulo the length, a power of two. */
  #places: (Entry | undefined)[] = new Array<Entry | undefined>(FIRST_PLACES).fill(undefined);
  #size = 0;
  #lastId = 0;

  /** Gives the entry its number. */
  add(entry: Entry): number {
    if (this.#size * 2 >= this.#places.length) this.#grow();
    do this.#lastId += 1;
    while (this.#places[this.#placeOf(this.#lastId)] !== undefined);
    entry.id = this.#lastId;
    this.#places[this.#placeOf(entry.id)] = entry;
    this.#size += 1;
    return entry.id;
  }

  /** The entry of this number, which is not under way any more; undefined where it was not. */
  take(id: number): Entry | undefined {
    const place = this.#placeOf(id);
    const entry = this.#places[place];
    if (entry === undefined || entry.id !== id) return undefined;
    this.#places[place] = undefined;
    this.#size -= 1;
    return entry;
  }

  /** Those under way, in the order of their numbers. */
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
