import { type Entry, TIME_BYTES, UUID_BYTES, uuidToHex } from "./packed-entry.ts";

/**
 * Entries by the UUID that their ids begin with. They stay packed: to fill a Map with 200,000 of them takes a
 * starting process longer than to receive them. A later entry replaces one of the same id.
 */
export class EntryTable {
  readonly #idBytes: number;
  readonly #entryBytes: number;
  #entries = Buffer.alloc(0);
  #count = 0;
  /** The number of an entry, from 1, at the hash of its id or the first free place after it. Half empty. */
  #slots = new Int32Array(2);

  constructor(idBytes = UUID_BYTES) {
    this.#idBytes = idBytes;
    this.#entryBytes = idBytes + TIME_BYTES;
  }

  /** Adds packed entries. Errors: RangeError where they end within one. */
  add(packed: Buffer): void {
    const added = packed.length / this.#entryBytes;
    if (!Number.isInteger(added)) throw new RangeError(`packed entries have ${packed.length} bytes`);
    const end = this.#count * this.#entryBytes;
    if (this.#entries.length < end + packed.length) {
      this.#entries = Buffer.concat([this.#entries.subarray(0, end)], 2 * (end + packed.length));
    }
    packed.copy(this.#entries, end);
    if (this.#slots.length < 2 * (this.#count + added)) {
      this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(4 * (this.#count + added))));
      for (let number = 1; number <= this.#count; number += 1) this.#enter(number);
    }
    for (let i = 0; i < added; i += 1) this.#enter(++this.#count);
  }

  /** Returns the entries whose id begins with this UUID. */
  find(uuid: string): Entry[] {
    const found: Entry[] = [];
    if (this.#count === 0) return found;
    const hex = uuidToHex(uuid);
    const hash = Number.parseInt(hex.slice(-8), 16);
    for (let slot = hash & this.#mask; this.#slots[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const number = this.#slots[slot]!;
      const start = this.#startOf(number);
      const id = this.#entries.toString("hex", start, start + this.#idBytes);
      if (id.startsWith(hex)) found.push({ id, time: this.#timeOf(number) });
    }
    return found;
  }

  /** Removes entries whose time is not after `time`, once that frees half of the memory. */
  removeUntil(time: number): void {
    const kept = this.#slots.filter((number) => number > 0 && this.#timeOf(number) > time);
    if (2 * kept.length > this.#count) return;
    const packed = Buffer.alloc(kept.length * this.#entryBytes);
    kept.forEach((number, i) => {
      const start = this.#startOf(number);
      this.#entries.copy(packed, i * this.#entryBytes, start, start + this.#entryBytes);
    });
    [this.#entries, this.#count, this.#slots] = [Buffer.alloc(0), 0, new Int32Array(2)];
    this.add(packed);
  }

  get #mask(): number {
    return this.#slots.length - 1;
  }

  #startOf(number: number): number {
    return (number - 1) * this.#entryBytes;
  }

  #timeOf(number: number): number {
    return this.#entries.readDoubleBE(this.#startOf(number) + this.#idBytes);
  }

  #enter(number: number): void {
    const start = this.#startOf(number);
    // The last bytes of a UUID are random, whether its first are a time or not.
    const hash = this.#entries.readUInt32BE(start + UUID_BYTES - 4);
    for (let slot = hash & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const other = this.#slots[slot]!;
      if (other === 0 || this.#isSameId(start, this.#startOf(other))) {
        this.#slots[slot] = number;
        return;
      }
    }
  }

  #isSameId(a: number, b: number): boolean {
    const entries = this.#entries;
    const last = UUID_BYTES - 4;
    return (
      entries.readUInt32BE(a + last) === entries.readUInt32BE(b + last) &&
      entries.compare(entries, a, a + this.#idBytes, b, b + this.#idBytes) === 0
    );
  }
}
