package countersign.client

import java.security.MessageDigest
import java.util.Base64

/** The device's key. It never leaves the device, so the client only asks for signatures. */
interface UserKey {
    /** Canonical hex: 128 digits x||y for ECDSA. */
    val publicKey: String

    /** The JOSE name: `ES256`, `ES256K` or `EdDSA`. */
    val algorithm: String

    /**
     * Signs `message` itself, ECDSA over its SHA-256; returns raw r||s, 64 bytes. May show the phone's
     * dialog.
     */
    suspend fun sign(message: ByteArray): ByteArray
}

/**
 * Where a device's key is kept. A store never overwrites a key: an account may depend on one, also where the
 * answer to the sign-up was lost.
 */
interface KeyStore {
    suspend fun load(): UserKey?

    /** Creates a key and stores it before it returns it; where there is one already, returns that one. */
    suspend fun create(): UserKey

    /** Deletes the key for good: only once it is revoked on every chain, or was never used. */
    suspend fun remove()
}

/** Returns the stored key; creates it the first time. */
suspend fun KeyStore.loadOrCreate(): UserKey = load() ?: create()

private val DIGITS = mapOf("ES256" to 128, "ES256K" to 128, "EdDSA" to 64)
private val LOWER_HEX = Regex("[0-9a-f]*")

/** Returns a key's canonical form. Throws IllegalArgumentException for every other encoding. */
internal fun canonicalKey(algorithm: String, publicKey: String): String {
    require(publicKey.length == DIGITS[algorithm] && LOWER_HEX.matches(publicKey)) { "not a public key in canonical form" }
    return publicKey
}

/**
 * Returns the `nonce` to log in with, base64url(SHA-256(public key)): the login is useless with another key.
 */
fun keyFingerprint(publicKey: String): String {
    val digest = MessageDigest.getInstance("SHA-256").digest(hexToBytes(publicKey))
    return Base64.getUrlEncoder().withoutPadding().encodeToString(digest)
}

/**
 * Returns the text that App Attest or Play Integrity attests (docs/attestation.md). SHA-256 of its UTF-8, in
 * base64url, is the nonce of Play Integrity. `operation`: `sign-up` or `enrollment`; keys as canonical hex.
 */
fun attestationText(
    operation: String,
    chainName: String,
    loginToken: String,
    accountKey: String,
    deviceKey: String,
): String {
    val digest = MessageDigest.getInstance("SHA-256").digest(loginToken.toByteArray())
    val login = Base64.getUrlEncoder().withoutPadding().encodeToString(digest)
    val keys = listOf(keyFingerprint(accountKey), keyFingerprint(deviceKey))
    return (listOf("countersign attestation v1", operation, chainName, login) + keys).joinToString("\n")
}

/** Returns the raw 64 bytes r||s of strict DER (X.690), as platforms' key stores sign. */
fun signatureFromDer(der: ByteArray): ByteArray {
    require(der.size in 8..72 && der[0] == 0x30.toByte() && der[1].toInt() == der.size - 2) { "a signature is DER" }
    val (r, next) = derInteger(der, 2)
    val (s, end) = derInteger(der, next)
    require(end == der.size) { "bad DER" }
    return r + s
}

private fun derInteger(der: ByteArray, offset: Int): Pair<ByteArray, Int> {
    require(offset + 2 < der.size && der[offset] == 2.toByte()) { "bad DER" }
    val start = offset + 2
    val end = start + der[offset + 1]
    require(end in start + 1..minOf(der.size, start + 33) && der[start] >= 0) { "bad DER" }
    val isPadded = der[start] == 0.toByte() && end - start > 1
    require(!isPadded || der[start + 1] < 0) { "bad DER" }
    val digits = der.copyOfRange(if (isPadded) start + 1 else start, end)
    require(digits.size <= 32) { "bad DER" }
    return ByteArray(32 - digits.size) + digits to end
}
