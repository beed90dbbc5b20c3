/// An item of RLP: bytes, or a list of items (Ethereum yellow paper, appendix B).
public indirect enum RlpItem: Equatable, Sendable {
    case bytes(Bytes)
    case list([RlpItem])

    static func text(_ text: String) -> RlpItem { .bytes(Bytes(text.utf8)) }

    /// An unsigned integer: big-endian without leading zeros; zero has no bytes.
    static func number(_ number: UInt64) -> RlpItem { .bytes(bigEndian(number)) }
}

private func bigEndian(_ number: UInt64) -> Bytes {
    Bytes(stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }.drop { $0 == 0 })
}

/// Returns the canonical encoding of an item.
public func encodeRlp(_ item: RlpItem) -> Bytes {
    switch item {
    case let .bytes(bytes):
        return bytes.count == 1 && bytes[0] < 0x80 ? bytes : header(bytes.count, 0x80) + bytes
    case let .list(items):
        let body = items.flatMap(encodeRlp)
        return header(body.count, 0xc0) + body
    }
}

private func header(_ length: Int, _ base: Int) -> Bytes {
    if length < 56 { return [UInt8(base + length)] }
    let digits = bigEndian(UInt64(length))
    return [UInt8(base + 55 + digits.count)] + digits
}

/// Lists nest this deep at most: an envelope's signature lies at depth four.
private let maxDepth = 8

/// Decodes exactly one canonical item. Throws FormatError for another encoding, and for bytes after the item.
public func decodeRlp(_ bytes: Bytes) throws -> RlpItem {
    let (item, end) = try decode(bytes, at: 0, limit: bytes.count, depth: 0)
    guard end == bytes.count else { throw FormatError("bytes after the item") }
    return item
}

private func decode(_ bytes: Bytes, at offset: Int, limit: Int, depth: Int) throws -> (RlpItem, Int) {
    guard offset < limit else { throw FormatError("an item is missing") }
    let first = Int(bytes[offset])
    if first < 0x80 { return (.bytes([bytes[offset]]), offset + 1) }
    let isList = first >= 0xc0
    let short = first - (isList ? 0xc0 : 0x80)
    var start = offset + 1
    var length = short
    if short > 55 {
        let digits = short - 55
        guard digits <= 4, start + digits <= limit else { throw FormatError("a length runs out of the message") }
        guard bytes[start] != 0 else { throw FormatError("a length with a leading zero") }
        length = bytes[start..<start + digits].reduce(0) { $0 * 256 + Int($1) }
        guard length >= 56 else { throw FormatError("a short length in the long form") }
        start += digits
    }
    guard length <= limit - start else { throw FormatError("an item runs out of the message") }
    let end = start + length
    if !isList {
        if short == 1 && bytes[start] < 0x80 { throw FormatError("a small byte with a header") }
        return (.bytes(Bytes(bytes[start..<end])), end)
    }
    guard depth < maxDepth else { throw FormatError("lists nest too deep") }
    var items: [RlpItem] = []
    while start < end {
        let (item, next) = try decode(bytes, at: start, limit: end, depth: depth + 1)
        items.append(item)
        start = next
    }
    return (.list(items), end)
}
