package countersign.client

import javax.crypto.SecretKeyFactory
import javax.crypto.spec.PBEKeySpec

private const val ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
private const val ROUNDS = 200_000
private const val BITS = 40

/** A public key in canonical form, with the JOSE name of its algorithm. */
data class PublicKey(val algorithm: String, val publicKey: String)

/**
 * Derives the code by which a person sees that the device in their hand is the requesting one: `XXXX-XXXX`.
 * The requesting device derives it from its own keys, the approving one from the key in the message that it
 * is about to sign. Takes about a tenth of a second, on purpose. See docs/two-factor.md.
 */
fun matchingCode(accountId: String, twoFactorId: String, accountKey: PublicKey, deviceKey: PublicKey): String {
    val password = listOf(accountKey, deviceKey).joinToString("") { "${it.algorithm} ${canonicalKey(it.algorithm, it.publicKey)}\n" }
    val salt = listOf("countersign-matching-code-v2", accountId.lowercase(), twoFactorId.lowercase()).joinToString("") { "$it\n" }
    val spec = PBEKeySpec(password.toCharArray(), salt.toByteArray(), ROUNDS, BITS)
    val digest = SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256").generateSecret(spec).encoded
    val number = digest.fold(0L) { value, byte -> (value shl 8) or (byte.toLong() and 0xff) }
    val code = (35 downTo 0 step 5).joinToString("") { ALPHABET[(number shr it and 31).toInt()].toString() }
    return "${code.take(4)}-${code.drop(4)}"
}

/** Returns whether two codes are the same to a person who types them; false for anything that is no code. */
fun sameMatchingCode(first: String, second: String): Boolean {
    val code = normalCode(first)
    return code != null && code == normalCode(second)
}

private fun normalCode(code: String): String? = code.uppercase(java.util.Locale.ROOT)
    .replace(Regex("[\\s\\p{Pd}]"), "")
    .replace('O', '0')
    .replace(Regex("[IL]"), "1")
    .takeIf { it.length == 8 && it.all(ALPHABET::contains) }
