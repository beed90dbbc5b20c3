private let roundConstants: [UInt64] = [
    0x1, 0x8082, 0x8000_0000_0000_808a, 0x8000_0000_8000_8000, 0x808b, 0x8000_0001, 0x8000_0000_8000_8081,
    0x8000_0000_0000_8009, 0x8a, 0x88, 0x8000_8009, 0x8000_000a, 0x8000_808b, 0x8000_0000_0000_008b,
    0x8000_0000_0000_8089, 0x8000_0000_0000_8003, 0x8000_0000_0000_8002, 0x8000_0000_0000_0080, 0x800a,
    0x8000_0000_8000_000a, 0x8000_0000_8000_8081, 0x8000_0000_0000_8080, 0x8000_0001, 0x8000_0000_8000_8008,
]
private let rotations: [UInt64] = [
    1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44,
]
private let lanes = [10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1]
private let rate = 136

/// Returns SHA3-256 (FIPS 202). Older systems of Apple have none; transactions' ids need it.
public func sha3(_ bytes: Bytes) -> Bytes {
    var padded = bytes + [0x06] + Bytes(repeating: 0, count: rate - 1 - bytes.count % rate)
    padded[padded.count - 1] |= 0x80
    var state = [UInt64](repeating: 0, count: 25)
    for block in stride(from: 0, to: padded.count, by: rate) {
        for lane in 0..<rate / 8 {
            var value: UInt64 = 0
            for byte in (0..<8).reversed() { value = value << 8 | UInt64(padded[block + 8 * lane + byte]) }
            state[lane] ^= value
        }
        keccak(&state)
    }
    return state[0..<4].flatMap { lane in withUnsafeBytes(of: lane.littleEndian, Array.init) }
}

private func rotated(_ value: UInt64, by count: UInt64) -> UInt64 { value << count | value >> (64 - count) }

private func keccak(_ state: inout [UInt64]) {
    for constant in roundConstants {
        var column = Array(state[0..<5])
        for lane in 5..<25 { column[lane % 5] ^= state[lane] }
        for x in 0..<5 {
            let mixed = column[(x + 4) % 5] ^ rotated(column[(x + 1) % 5], by: 1)
            for y in 0..<5 { state[x + 5 * y] ^= mixed }
        }
        var moved = state[1]
        for step in 0..<24 {
            let kept = state[lanes[step]]
            state[lanes[step]] = rotated(moved, by: rotations[step])
            moved = kept
        }
        for y in stride(from: 0, to: 25, by: 5) {
            let row = Array(state[y..<y + 5])
            for x in 0..<5 { state[y + x] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]) }
        }
        state[0] ^= constant
    }
}
