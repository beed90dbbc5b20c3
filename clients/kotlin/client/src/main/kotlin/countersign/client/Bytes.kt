package countersign.client

private val HEX = Regex("(?:[0-9a-fA-F]{2})*")

/** Returns lower-case hex. */
fun ByteArray.toHex(): String = joinToString("") { "%02x".format(it) }

/** Returns the bytes of a text in hex, with or without `0x`. Throws IllegalArgumentException. */
fun hexToBytes(hex: String): ByteArray {
    val digits = hex.removePrefix("0x")
    require(HEX.matches(digits)) { "not hex" }
    return ByteArray(digits.length / 2) { digits.substring(2 * it, 2 * it + 2).toInt(16).toByte() }
}

/** Returns the text of UTF-8. Throws java.nio.charset.CharacterCodingException for anything else. */
internal fun decodeUtf8(bytes: ByteArray): String =
    Charsets.UTF_8.newDecoder().decode(java.nio.ByteBuffer.wrap(bytes)).toString()

internal fun ByteArray.startsWith(prefix: ByteArray): Boolean =
    size >= prefix.size && prefix.indices.all { this[it] == prefix[it] }

/** Returns a domain tag of Flow: its text in 32 bytes, with zeros at the end. */
internal fun domainTag(text: String): ByteArray = text.toByteArray().copyOf(32)
