package countersign.client

import java.security.MessageDigest
import java.security.SecureRandom

private const val ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
private const val HALF = 4

/** A public key in canonical form, with the JOSE name of its algorithm. */
data class PublicKey(val algorithm: String, val publicKey: String)

/**
 * Makes a code by which a person sees that the device in their hand is the requesting one: `XXXX-XXXX`. The
 * first half is drawn here and reaches the approving device by the person alone; the second is a hash over it
 * and the keys. Each call makes another code, and all of them match. See docs/two-factor.md.
 */
fun matchingCode(accountKey: PublicKey, deviceKey: PublicKey): String {
    val drawn = characters(ByteArray(HALF).also { SecureRandom().nextBytes(it) })
    return "$drawn-${secondHalf(drawn, accountKey, deviceKey)}"
}

/** Returns whether a device with these keys may have made a code that a person typed. */
fun isMatchingCode(typed: String, accountKey: PublicKey, deviceKey: PublicKey): Boolean {
    val code = typed.uppercase(java.util.Locale.ROOT)
        .replace(Regex("[\\s\\p{Z}\\p{Pd}]"), "")
        .replace('O', '0')
        .replace(Regex("[IL]"), "1")
    return code.drop(HALF) == secondHalf(code.take(HALF), accountKey, deviceKey)
}

private fun secondHalf(drawn: String, accountKey: PublicKey, deviceKey: PublicKey): String {
    val keys = listOf(accountKey, deviceKey).map { "${it.algorithm} ${canonicalKey(it.algorithm, it.publicKey)}" }
    val text = (listOf("countersign-matching-code-v3", drawn) + keys).joinToString("") { "$it\n" }
    return characters(MessageDigest.getInstance("SHA-256").digest(text.toByteArray()).copyOf(HALF))
}

private fun characters(bytes: ByteArray): String = bytes.joinToString("") { ALPHABET[it.toInt() and 31].toString() }
