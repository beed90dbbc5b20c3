type Value = string | number | { [key: string]: Value } | Value[];

/**
 * Returns one value in MaxMind's data format (https://maxmind.github.io/MaxMind-DB/), sizes below 285 only.
 */
function encode(value: Value): Buffer {
  const control = (type: number, size: number): Buffer => {
    const extended = type > 7;
    const bytes = [((extended ? 0 : type) << 5) | Math.min(size, 29)];
    if (extended) bytes.push(type - 7);
    if (size >= 29) bytes.push(size - 29);
    return Buffer.from(bytes);
  };
  if (typeof value === "string") return Buffer.concat([control(2, Buffer.byteLength(value)), Buffer.from(value)]);
  if (typeof value === "number") {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return Buffer.concat([control(6, 4), bytes]);
  }
  if (Array.isArray(value)) return Buffer.concat([control(11, value.length), ...value.map(encode)]);
  const entries = Object.entries(value);
  return Buffer.concat([
    control(7, entries.length),
    ...entries.flatMap(([key, inner]) => [encode(key), encode(inner)]),
  ]);
}

/** Returns a database file of a few IPv4 networks such as "203.0.113.0/24", for tests. */
export function makeDatabase(networks: Record<string, Value>): Buffer {
  type Node = [Node | number | undefined, Node | number | undefined];
  const root: Node = [undefined, undefined];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [network, value] of Object.entries(networks)) {
    const [address = "", length = "32"] = network.split("/");
    const bits = address.split(".").flatMap((byte) => [...Number(byte).toString(2).padStart(8, "0")].map(Number));
    let node = root;
    for (const bit of bits.slice(0, Number(length) - 1)) {
      node[bit] ??= [undefined, undefined];
      node = node[bit] as Node;
    }
    node[bits[Number(length) - 1]!] = offset;
    data.push(encode(value));
    offset += data.at(-1)!.length;
  }
  const nodes: Node[] = [root];
  for (const node of nodes) for (const side of node) if (Array.isArray(side)) nodes.push(side);
  const record = (side: Node[number]) => {
    const bytes = Buffer.alloc(4);
    if (Array.isArray(side)) bytes.writeUInt32BE(nodes.indexOf(side));
    else bytes.writeUInt32BE(nodes.length + (side === undefined ? 0 : 16 + side));
    return bytes;
  };
  const tree = nodes.flatMap((node) => [record(node[0]), record(node[1])]);
  const metadata = {
    node_count: nodes.length,
    record_size: 32,
    ip_version: 4,
    database_type: "Test-City",
    languages: ["en"],
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    description: { en: "test" },
  };
  const marker = Buffer.concat([Buffer.from([0xab, 0xcd, 0xef]), Buffer.from("MaxMind.com")]);
  return Buffer.concat([...tree, Buffer.alloc(16), ...data, marker, encode(metadata)]);
}
