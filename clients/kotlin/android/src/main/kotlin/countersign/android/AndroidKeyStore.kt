package countersign.android

import android.content.Context
import android.content.pm.PackageManager
import android.os.Build
import android.security.keystore.KeyGenParameterSpec
import android.security.keystore.KeyProperties
import android.security.keystore.StrongBoxUnavailableException
import countersign.client.KeyStore
import countersign.client.UserKey
import countersign.client.publicKeyOf
import countersign.client.signatureFromDer
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import java.security.KeyPairGenerator
import java.security.PrivateKey
import java.security.Signature
import java.security.interfaces.ECPublicKey
import java.security.spec.ECGenParameterSpec

private const val PROVIDER = "AndroidKeyStore"

/** Of all stores: the Keystore would write a second key over the first one of its alias. */
private val creating = Mutex()

/**
 * Has the person confirm a signature, by BiometricPrompt with a CryptoObject of the given signature, and
 * returns that object's. Throws where the person closes the dialog.
 */
fun interface Confirmation {
    suspend fun confirm(signature: Signature): Signature
}

/**
 * Keeps the device's P-256 key in the Android Keystore, in StrongBox where the phone has one, else in its
 * TEE. The key never leaves it, and a backup does not have it. With a confirmation each signature needs the
 * person's finger, face or the phone's code; a new finger or face does not delete the key.
 */
class AndroidKeyStore(
    private val context: Context,
    private val confirmation: Confirmation? = null,
    private val alias: String = "countersign.device",
) : KeyStore {
    private val keystore: java.security.KeyStore
        get() = java.security.KeyStore.getInstance(PROVIDER).apply { load(null) }

    override suspend fun load(): UserKey? = withContext(Dispatchers.IO) {
        val store = keystore
        val publicKey = store.getCertificate(alias)?.publicKey as ECPublicKey? ?: return@withContext null
        AndroidKey(publicKeyOf(publicKey), store.getKey(alias, null) as PrivateKey, confirmation)
    }

    override suspend fun create(): UserKey = creating.withLock {
        load() ?: withContext(Dispatchers.IO) {
            val hasStrongBox = Build.VERSION.SDK_INT >= Build.VERSION_CODES.P &&
                context.packageManager.hasSystemFeature(PackageManager.FEATURE_STRONGBOX_KEYSTORE)
            try {
                generate(hasStrongBox)
            } catch (_: StrongBoxUnavailableException) {
                generate(false)
            }
            load() ?: error("the Android Keystore has no key after it was created")
        }
    }

    override suspend fun remove() = withContext(Dispatchers.IO) { keystore.deleteEntry(alias) }

    private fun generate(inStrongBox: Boolean) {
        val spec = KeyGenParameterSpec.Builder(alias, KeyProperties.PURPOSE_SIGN)
            .setAlgorithmParameterSpec(ECGenParameterSpec("secp256r1"))
            .setDigests(KeyProperties.DIGEST_SHA256)
        if (confirmation != null) {
            spec.setUserAuthenticationRequired(true)
            if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.R) {
                val kinds = KeyProperties.AUTH_BIOMETRIC_STRONG or KeyProperties.AUTH_DEVICE_CREDENTIAL
                spec.setUserAuthenticationParameters(0, kinds)
            } else {
                spec.setInvalidatedByBiometricEnrollment(false)
            }
        }
        if (inStrongBox && Build.VERSION.SDK_INT >= Build.VERSION_CODES.P) spec.setIsStrongBoxBacked(true)
        KeyPairGenerator.getInstance(KeyProperties.KEY_ALGORITHM_EC, PROVIDER).run {
            initialize(spec.build())
            generateKeyPair()
        }
    }
}

private class AndroidKey(
    override val publicKey: String,
    private val key: PrivateKey,
    private val confirmation: Confirmation?,
) : UserKey {
    override val algorithm = "ES256"

    override suspend fun sign(message: ByteArray): ByteArray {
        val unlocked = Signature.getInstance("SHA256withECDSA").apply { initSign(key) }
        val signature = confirmation?.confirm(unlocked) ?: unlocked
        return withContext(Dispatchers.IO) {
            signature.update(message)
            signatureFromDer(signature.sign())
        }
    }
}
