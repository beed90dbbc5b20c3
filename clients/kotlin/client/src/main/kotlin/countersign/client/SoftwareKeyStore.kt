package countersign.client

import java.security.KeyPair
import java.security.KeyPairGenerator
import java.security.Signature
import java.security.interfaces.ECPublicKey
import java.security.spec.ECGenParameterSpec

/** A P-256 key of java.security, for tests and for the JVM; on phones use the platform's key store. */
class SoftwareKey(private val pair: KeyPair) : UserKey {
    override val algorithm = "ES256"
    override val publicKey = publicKeyOf(pair.public as ECPublicKey)

    override suspend fun sign(message: ByteArray): ByteArray {
        val signature = Signature.getInstance("SHA256withECDSA")
        signature.initSign(pair.private)
        signature.update(message)
        return signatureFromDer(signature.sign())
    }
}

/** Returns the canonical hex of a key of java.security: x||y. */
fun publicKeyOf(key: ECPublicKey): String = listOf(key.w.affineX, key.w.affineY).joinToString("") { "%064x".format(it) }

/** Keeps a key in memory. */
class MemoryKeyStore : KeyStore {
    private var key: UserKey? = null

    override suspend fun load(): UserKey? = key

    override suspend fun create(): UserKey = key ?: run {
        val generator = KeyPairGenerator.getInstance("EC").apply { initialize(ECGenParameterSpec("secp256r1")) }
        SoftwareKey(generator.generateKeyPair()).also { key = it }
    }

    override suspend fun remove() {
        key = null
    }
}
