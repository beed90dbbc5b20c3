package countersign.client

private val ROUND_CONSTANTS = longArrayOf(
    0x1, 0x8082, 0x800000000000808aUL.toLong(), 0x8000000080008000UL.toLong(), 0x808b, 0x80000001,
    0x8000000080008081UL.toLong(), 0x8000000000008009UL.toLong(), 0x8a, 0x88, 0x80008009, 0x8000000a,
    0x8000808b, 0x800000000000008bUL.toLong(), 0x8000000000008089UL.toLong(), 0x8000000000008003UL.toLong(),
    0x8000000000008002UL.toLong(), 0x8000000000000080UL.toLong(), 0x800a, 0x800000008000000aUL.toLong(),
    0x8000000080008081UL.toLong(), 0x8000000000008080UL.toLong(), 0x80000001, 0x8000000080008008UL.toLong(),
)
private val ROTATIONS = intArrayOf(1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44)
private val LANES = intArrayOf(10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1)

private const val RATE = 136

/** Returns SHA3-256 (FIPS 202). Android has no provider of it; transactions' ids need it. */
fun sha3(bytes: ByteArray): ByteArray {
    val padded = bytes.copyOf((bytes.size / RATE + 1) * RATE)
    padded[bytes.size] = 0x06
    padded[padded.size - 1] = (padded.last().toInt() or 0x80).toByte()
    val state = LongArray(25)
    for (block in padded.indices step RATE) {
        for (lane in 0 until RATE / 8) {
            var value = 0L
            for (byte in 7 downTo 0) value = (value shl 8) or (padded[block + 8 * lane + byte].toLong() and 0xff)
            state[lane] = state[lane] xor value
        }
        keccak(state)
    }
    return ByteArray(32) { (state[it / 8] ushr (8 * (it % 8))).toByte() }
}

private fun keccak(state: LongArray) {
    val column = LongArray(5)
    for (constant in ROUND_CONSTANTS) {
        for (x in 0..4) column[x] = (0..4).fold(0L) { sum, y -> sum xor state[x + 5 * y] }
        for (x in 0..4) {
            val mixed = column[(x + 4) % 5] xor column[(x + 1) % 5].rotateLeft(1)
            for (y in 0..4) state[x + 5 * y] = state[x + 5 * y] xor mixed
        }
        var moved = state[1]
        for (step in 0..23) {
            val kept = state[LANES[step]]
            state[LANES[step]] = moved.rotateLeft(ROTATIONS[step])
            moved = kept
        }
        for (y in 0..20 step 5) {
            val row = state.copyOfRange(y, y + 5)
            for (x in 0..4) state[y + x] = row[x] xor (row[(x + 1) % 5].inv() and row[(x + 2) % 5])
        }
        state[0] = state[0] xor constant
    }
}
