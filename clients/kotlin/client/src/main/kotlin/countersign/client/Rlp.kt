package countersign.client

import java.io.ByteArrayOutputStream

/** An item of RLP: bytes, or a list of items (Ethereum yellow paper, appendix B). */
sealed interface RlpItem {
    class Bytes(val bytes: ByteArray) : RlpItem

    class Items(val items: List<RlpItem>) : RlpItem
}

/** Thrown when the bytes are not canonical RLP. */
class RlpException(message: String) : IllegalArgumentException(message)

fun rlp(bytes: ByteArray): RlpItem = RlpItem.Bytes(bytes)

fun rlp(text: String): RlpItem = RlpItem.Bytes(text.toByteArray())

/** Returns an unsigned integer: big-endian without leading zeros; zero has no bytes. */
fun rlp(number: ULong): RlpItem {
    val bytes = ByteArray(8) { (number shr (56 - 8 * it)).toByte() }
    return RlpItem.Bytes(bytes.dropWhile { it == 0.toByte() }.toByteArray())
}

fun rlp(items: List<RlpItem>): RlpItem = RlpItem.Items(items)

/** Returns the canonical encoding of an item. */
fun encodeRlp(item: RlpItem): ByteArray {
    val out = ByteArrayOutputStream()
    write(item, out)
    return out.toByteArray()
}

private fun write(item: RlpItem, out: ByteArrayOutputStream) {
    when (item) {
        is RlpItem.Bytes -> {
            val isSingle = item.bytes.size == 1 && item.bytes[0] >= 0
            if (!isSingle) writeHeader(item.bytes.size, 0x80, out)
            out.write(item.bytes)
        }
        is RlpItem.Items -> {
            val body = ByteArrayOutputStream()
            item.items.forEach { write(it, body) }
            writeHeader(body.size(), 0xc0, out)
            body.writeTo(out)
        }
    }
}

private fun writeHeader(length: Int, base: Int, out: ByteArrayOutputStream) {
    if (length < 56) return out.write(base + length)
    val digits = (rlp(length.toULong()) as RlpItem.Bytes).bytes
    out.write(base + 55 + digits.size)
    out.write(digits)
}

/** Lists nest this deep at most: an envelope's signature lies at depth four. */
private const val MAX_DEPTH = 8

/**
 * Decodes exactly one canonical item. Throws RlpException for another encoding, and for bytes after the item.
 */
fun decodeRlp(bytes: ByteArray): RlpItem {
    val (item, end) = decodeAt(bytes, 0, bytes.size, 0)
    if (end != bytes.size) throw RlpException("bytes after the item")
    return item
}

private fun decodeAt(bytes: ByteArray, offset: Int, limit: Int, depth: Int): Pair<RlpItem, Int> {
    if (offset >= limit) throw RlpException("an item is missing")
    val first = bytes[offset].toInt() and 0xff
    if (first < 0x80) return RlpItem.Bytes(byteArrayOf(bytes[offset])) to offset + 1
    val isList = first >= 0xc0
    val short = first - if (isList) 0xc0 else 0x80
    var start = offset + 1
    var length = short.toLong()
    if (short > 55) {
        val digits = short - 55
        if (digits > 4 || start + digits > limit) throw RlpException("a length runs out of the message")
        if (bytes[start] == 0.toByte()) throw RlpException("a length with a leading zero")
        length = (0 until digits).fold(0L) { sum, at -> sum * 256 + (bytes[start + at].toLong() and 0xff) }
        if (length < 56) throw RlpException("a short length in the long form")
        start += digits
    }
    if (start + length > limit) throw RlpException("an item runs out of the message")
    val end = (start + length).toInt()
    if (!isList) {
        if (short == 1 && bytes[start] >= 0) throw RlpException("a small byte with a header")
        return RlpItem.Bytes(bytes.copyOfRange(start, end)) to end
    }
    if (depth >= MAX_DEPTH) throw RlpException("lists nest too deep")
    val items = mutableListOf<RlpItem>()
    var at = start
    while (at < end) {
        val (item, next) = decodeAt(bytes, at, end, depth + 1)
        items += item
        at = next
    }
    return RlpItem.Items(items) to end
}
