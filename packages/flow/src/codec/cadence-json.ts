/** A value in JSON-Cadence, the data format of arguments, events and script results. */
export interface CadenceValue {
  /** A type of Cadence, such as `String` or `Array`. */
  readonly type: string;
  /** The value in that type's JSON form; numbers are text. */
  readonly value?: unknown;
}

/**
 * Returns a String.
 * @example encodeCadence(cadenceString("hello")); // => '{"type":"String","value":"hello"}'
 */
export const cadenceString = (value: string): CadenceValue => ({ type: "String", value });
/**
 * Returns a Bool.
 * @example encodeCadence(cadenceBool(true)); // => '{"type":"Bool","value":true}'
 */
export const cadenceBool = (value: boolean): CadenceValue => ({ type: "Bool", value });
/**
 * Returns an Address; `address`: 16 hex digits.
 * @example
 * encodeCadence(cadenceAddress("f8d6e0586b0a20c7")); // => '{"type":"Address","value":"0xf8d6e0586b0a20c7"}'
 */
export const cadenceAddress = (address: string): CadenceValue => ({ type: "Address", value: `0x${address}` });
/**
 * Returns a UFix64; `amount`: decimal text with eight digits after the point.
 * @example encodeCadence(cadenceUFix64("1.50000000")); // => '{"type":"UFix64","value":"1.50000000"}'
 */
export const cadenceUFix64 = (amount: string): CadenceValue => ({ type: "UFix64", value: amount });
/**
 * Returns a UInt8.
 * @example encodeCadence(cadenceUInt8(7)); // => '{"type":"UInt8","value":"7"}'
 */
export const cadenceUInt8 = (value: number): CadenceValue => ({ type: "UInt8", value: String(value) });
/**
 * Returns an Int.
 * @example
 * encodeCadence(cadenceInt(10n ** 30n)); // => '{"type":"Int","value":"1000000000000000000000000000000"}'
 */
export const cadenceInt = (value: number | bigint): CadenceValue => ({ type: "Int", value: String(value) });
/**
 * Returns an array of values.
 * @example const names = cadenceArray([cadenceString("Ada"), cadenceString("Bob")]);
 */
export const cadenceArray = (value: readonly CadenceValue[]): CadenceValue => ({ type: "Array", value });

/**
 * Encodes a value in its only accepted form: members in the order type, value; no white space. All texts that
 * are compared byte for byte are made by this function. Throws TypeError for a number that is not text, and
 * for what has no type: the chain would refuse it.
 * @example const payload = { ...transaction, arguments: [encodeCadence(cadenceString("hello"))] };
 */
export const encodeCadence = (value: CadenceValue): string => JSON.stringify(ordered(value));

function ordered(given: unknown): unknown {
  const { type, value } = Object(given) as CadenceValue;
  if (typeof type !== "string") {
    const shown = typeof given === "bigint" ? `${given}n` : JSON.stringify(given);
    throw new TypeError(`an argument is ${shown}: give { type: "String", value: "hello" }, for example`);
  }
  if (typeof value === "number" || typeof value === "bigint")
    throw new TypeError(`a ${type} is a number: give it as text, { type: "${type}", value: "${value}" }`);
  if (type === "Optional" && value) return { type, value: ordered(value) };
  if (!Array.isArray(value)) return { type, value };
  const isDictionary = type === "Dictionary";
  return {
    type,
    value: value.map((e) => (isDictionary ? { key: ordered(e.key), value: ordered(e.value) } : ordered(e))),
  };
}

/** Deeper than any event or script result; the stack of a process is not a node's to fill. */
const MAX_DEPTH = 200;

/**
 * Returns the plain data of a JSON-Cadence value: numbers stay text, composites become objects, optionals
 * their content or null. Throws TypeError for other shapes and for values that nest too deep.
 * @example readCadence({ type: "Optional", value: { type: "UInt8", value: "7" } }); // => "7"
 */
export function readCadence(value: unknown): unknown {
  return readAt(value, 0);
}

function readAt(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new TypeError("a Cadence value nests too deep");
  const read = (inner: unknown): unknown => readAt(inner, depth + 1);
  if (typeof value !== "object" || value === null || !("type" in value)) throw new TypeError("not a Cadence value");
  const { type, value: content } = value as CadenceValue;
  switch (type) {
    case "Optional":
      return content === null ? null : read(content);
    case "Array":
      return (content as unknown[]).map(read);
    case "Dictionary":
      return (content as { key: unknown; value: unknown }[]).map((e) => [read(e.key), read(e.value)]);
    case "Event":
    case "Struct":
    case "Enum":
    case "Resource":
    case "Contract":
      return Object.fromEntries(
        (content as { fields: { name: string; value: unknown }[] }).fields.map((f) => [f.name, read(f.value)]),
      );
    default:
      return content;
  }
}
