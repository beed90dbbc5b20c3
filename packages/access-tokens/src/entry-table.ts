import { type Entry, TIME_BYTES, UUID_BYTES, uuidToHex } from "./packed-entry.ts";

/** Where a UUID's last four bytes are. They are random, but entries that come together share the last one. */
const HASH_AT = UUID_BYTES - 4;

/** Returns a slot for them, which the multiplication spreads: Fibonacci hashing. */
const slotFor = (lastBytes: number, slots: number): number => (Math.imul(lastBytes, 0x9e3779b1) >>> 7) & (slots - 1);

/**
 * Entries by the UUID that their ids begin with. They stay packed: to fill a Map with 200,000 of them takes a
 * starting process longer than to receive them. A later entry replaces one of the same id.
 */
export class EntryTable {
  readonly #idBytes: number;
  readonly #entryBytes: number;
  readonly #differsAt: number;
  #entries = Buffer.alloc(0);
  #count = 0;
  /** The number of an entry, from 1, at the hash of its id or the first free place after it. Half empty. */
  #slots = new Int32Array(2);

  constructor(idBytes = UUID_BYTES) {
    this.#idBytes = idBytes;
    this.#entryBytes = idBytes + TIME_BYTES;
    this.#differsAt = idBytes > UUID_BYTES ? UUID_BYTES + 1 : HASH_AT;
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
      for (let number = 1; number <= this.#count; number += 1) this.#slots[this.#slotOf(number)] = number;
    }
    for (let i = 0; i < added; i += 1) this.#enter(end + i * this.#entryBytes);
  }

  /** Returns the entries whose id begins with this UUID. */
  find(uuid: string): Entry[] {
    const found: Entry[] = [];
    if (this.#count === 0) return found;
    const hex = uuidToHex(uuid);
    const lastBytes = Number.parseInt(hex.slice(2 * HASH_AT), 16);
    for (let slot = slotFor(lastBytes, this.#slots.length); this.#slots[slot] !== 0; slot = this.#after(slot)) {
      const number = this.#slots[slot]!;
      const start = this.#startOf(number);
      const id = this.#entries.toString("hex", start, start + this.#idBytes);
      if (id.startsWith(hex)) found.push({ id, time: this.#timeOf(number) });
    }
    return found;
  }

  /** Removes entries whose time is not after `time`, once that frees half of the memory. */
  removeUntil(time: number): void {
    const kept = this.#slots.filter((number) => number > 0 && !(this.#timeOf(number) <= time));
    if (2 * kept.length > this.#count) return;
    const packed = Buffer.alloc(kept.length * this.#entryBytes);
    kept.forEach((number, i) => {
      const start = this.#startOf(number);
      this.#entries.copy(packed, i * this.#entryBytes, start, start + this.#entryBytes);
    });
    [this.#entries, this.#count, this.#slots] = [Buffer.alloc(0), 0, new Int32Array(2)];
    this.add(packed);
  }

  #after(slot: number): number {
    return (slot + 1) & (this.#slots.length - 1);
  }

  #startOf(number: number): number {
    return (number - 1) * this.#entryBytes;
  }

  #timeOf(number: number): number {
    return this.#entries.readDoubleBE(this.#startOf(number) + this.#idBytes);
  }

  /** Gives the entry at `start` the next number, unless its id has one: that entry then has its time. */
  #enter(start: number): void {
    const next = this.#count + 1;
    const place = this.#startOf(next);
    if (start !== place) this.#entries.copyWithin(place, start, start + this.#entryBytes);
    const slot = this.#slotOf(next);
    if (this.#slots[slot] === 0) {
      this.#slots[slot] = next;
      this.#count = next;
    } else {
      this.#entries.writeDoubleBE(this.#timeOf(next), this.#startOf(this.#slots[slot]!) + this.#idBytes);
    }
  }

  /** Returns the slot that has an entry of the same id, or else the free one for it. */
  #slotOf(number: number): number {
    const start = this.#startOf(number);
    let slot = slotFor(this.#entries.readUInt32BE(start + HASH_AT), this.#slots.length);
    while (this.#slots[slot] !== 0 && !this.#isSameId(start, this.#startOf(this.#slots[slot]!)))
      slot = this.#after(slot);
    return slot;
  }

  #isSameId(a: number, b: number): boolean {
    const entries = this.#entries;
    return (
      entries.readUInt32BE(a + HASH_AT) === entries.readUInt32BE(b + HASH_AT) &&
      // Of keys of one account, which have the same hash.
      entries.readUInt32BE(a + this.#differsAt) === entries.readUInt32BE(b + this.#differsAt) &&
      entries.compare(entries, a, a + this.#idBytes, b, b + this.#idBytes) === 0
    );
  }
}
