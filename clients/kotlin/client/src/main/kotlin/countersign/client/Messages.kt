package countersign.client

private const val CHALLENGE_BYTES = 16

/**
 * Returns the bytes that answer a challenge. Throws InvalidMessageException for anything but 16 bytes: a
 * longer challenge could be the digest of a transaction.
 */
fun challengeMessage(challengeData: String): ByteArray {
    val bytes = runCatching { hexToBytes(challengeData) }.getOrNull()
    if (bytes?.size != CHALLENGE_BYTES) throw InvalidMessageException("a challenge has 16 bytes")
    return bytes
}

/** Returns the bytes whose signature proves that the device refreshes its own token. */
fun refreshProofMessage(refreshToken: String): ByteArray = "countersign-token-refresh\n$refreshToken".toByteArray()

private val USER_MESSAGE_TAG = domainTag("FLOW-V0.0-user")
private val ACCOUNT_PROOF_TAG = domainTag("FCL-ACCOUNT-PROOF-V0.0")
private const val MAX_USER_MESSAGE_BYTES = 4_096

/**
 * Characters that cannot be seen or that change the order of a text. Stricter than the service: the joiners
 * and selectors of composed emoji are among them.
 */
internal const val HIDDEN_CHARACTERS =
    "\\p{C}\\p{Zl}\\p{Zp}\\x{2800}\\x{34f}\\x{115f}\\x{1160}\\x{17b4}\\x{17b5}\\x{180b}-\\x{180f}\\x{3164}" +
        "\\x{fe00}-\\x{fe0f}\\x{ffa0}\\x{e0000}-\\x{e0fff}\\x{13441}\\x{13442}\\x{16fe4}\\x{1d159}"
private val HIDDEN = Regex("[$HIDDEN_CHARACTERS]")
private val LAYOUT = Regex("\r?\n|\t")

/**
 * Returns the bytes that are signed for a text in the account's name. Throws InvalidMessageException for a
 * text with hidden characters, of more than 4096 bytes, or of exactly 32, which could be a hash for an EVM
 * contract.
 */
fun userMessage(text: String): ByteArray {
    val bytes = text.toByteArray()
    if (bytes.size !in 1..MAX_USER_MESSAGE_BYTES) throw InvalidMessageException("a text has 1 to 4096 bytes")
    if (bytes.size == 32) throw InvalidMessageException("the text has 32 bytes, like a hash: add a character")
    if (HIDDEN.containsMatchIn(text.replace(LAYOUT, ""))) throw InvalidMessageException("the text has hidden characters")
    return USER_MESSAGE_TAG + bytes
}

/**
 * Returns the bytes that are signed for an account proof, as FCL defines them. `nonce`: 32 to 128 bytes in
 * hex. Throws InvalidMessageException for another nonce, and for an app identifier with hidden characters or
 * of more than 256 bytes.
 */
fun accountProofMessage(appIdentifier: String, address: String, nonce: String): ByteArray {
    val fields = listOf(appIdentifier.toByteArray(), hexToBytes(address), hexToBytes(nonce))
    val (appBytes, addressBytes, nonceBytes) = fields.map { it.size }
    if (appBytes !in 1..256) throw InvalidMessageException("an app identifier has 1 to 256 bytes")
    if (HIDDEN.containsMatchIn(appIdentifier)) throw InvalidMessageException("the app identifier has hidden characters")
    if (addressBytes != 8) throw InvalidMessageException("an address has 8 bytes")
    if (nonceBytes !in 32..128) throw InvalidMessageException("a nonce has 32 to 128 bytes")
    return ACCOUNT_PROOF_TAG + encodeRlp(rlp(fields.map { rlp(it) }))
}
