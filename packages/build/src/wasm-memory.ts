const MEMORY_SECTION = 5;
const HEADER_BYTES = 8;

/** Reads an unsigned LEB128 number; returns it and where it ends. */
function readNumber(bytes: Uint8Array, at: number): { value: number; end: number } {
  let value = 0;
  for (let shift = 0, end = at; ; shift += 7, end += 1) {
    const byte = bytes[end];
    if (byte === undefined || shift > 28) throw new Error("not a WebAssembly module");
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { value, end: end + 1 };
  }
}

function writeNumber(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...writeNumber(value >>> 7)];
}

/**
 * Returns the same module with a memory limit (in pages of 64 KiB): Go's linker writes none, and nothing
 * outside can set one later. Throws unless the module has exactly one memory, without a limit.
 */
export function limitWasmMemory(module: Uint8Array, maxPages: number): Uint8Array {
  for (let at = HEADER_BYTES; at < module.length; ) {
    const size = readNumber(module, at + 1);
    const end = size.end + size.value;
    if (module[at] === MEMORY_SECTION) {
      const [count, flags] = module.subarray(size.end);
      const least = readNumber(module, size.end + 2);
      if (count !== 1 || flags !== 0 || least.end !== end || least.value > maxPages)
        throw new Error("unknown memories");
      const body = [1, 1, ...writeNumber(least.value), ...writeNumber(maxPages)];
      return Buffer.concat([
        module.subarray(0, at),
        Buffer.from([MEMORY_SECTION, ...writeNumber(body.length), ...body]),
        module.subarray(end),
      ]);
    }
    at = end;
  }
  throw new Error("the module has no memory");
}
