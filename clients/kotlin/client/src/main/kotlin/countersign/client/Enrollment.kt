package countersign.client

import countersign.api.models.TwoFactorAuth
import countersign.templates.Templates
import java.text.Normalizer

/**
 * The change that a person agrees to by signing the message of a request. Addresses have `0x` and 16 hex
 * digits.
 */
data class KeyAddition(val address: String, val key: PublicKey, val payer: String, val proposalKey: ProposalKey)

/** The message to sign is not the addition of one user key, or not for this device. Nothing was signed. */
class EnrollmentException(message: String) : IllegalArgumentException(message)

private val KEY_ARGUMENT = Regex("""\{"type":"String","value":"([0-9a-f]{128})"}""")

/**
 * Reads the message (hex) of a request. Its result is all that the transaction does: text and arguments are
 * compared byte for byte with the template, and exactly one account, which also proposes, authorizes. Throws
 * EnrollmentException for any other message.
 */
fun readKeyAddition(message: String): KeyAddition {
    val payload = try {
        decodePayload(hexToBytes(message))
    } catch (error: IllegalArgumentException) {
        throw EnrollmentException("the message is no transaction: ${error.message}")
    }
    val account = payload.authorizers.singleOrNull() ?: throw EnrollmentException("not exactly one account authorizes")
    if (payload.proposalKey.address != account) throw EnrollmentException("another account proposes")
    if (payload.script != Templates.ADD_USER_KEY) throw EnrollmentException("the transaction is not the addition of a key")
    val publicKey = KEY_ARGUMENT.matchEntire(payload.arguments.firstOrNull().orEmpty())?.groupValues?.get(1)
    val key = listOf("ES256", "ES256K").firstNotNullOfOrNull { algorithm ->
        publicKey?.let { PublicKey(algorithm, it) }?.takeIf { addUserKeyArguments(it) == payload.arguments }
    } ?: throw EnrollmentException("not the arguments of the template")
    return KeyAddition("0x$account", key, "0x${payload.payer}", payload.proposalKey.copy(address = "0x$account"))
}

/** Returns the exact arguments of the transaction that adds a key. */
fun addUserKeyArguments(key: PublicKey): List<String> =
    listOf(CadenceValue.string(key.publicKey), CadenceValue.bool(key.algorithm == "ES256K")).map { it.encode() }

/** The part of a request that a person decides on. */
data class ShownEnrollment(
    val id: String,
    val accountId: String,
    val message: String,
    val device: PublicKey,
    val appName: String,
    val name: String,
    val model: String,
    val system: String,
    val email: String,
    val ip: String,
    val location: String,
) {
    /** The key that the message adds. Throws EnrollmentException where it does anything else. */
    val addition: KeyAddition by lazy { readKeyAddition(message) }

    /** Returns whether a person typed the code of the device whose key the message adds. */
    fun isMatchingCode(typed: String): Boolean = isMatchingCode(typed, addition.key, device)

    /** In plain English: the device that asks, what approving does, and what to type. */
    val description: String by lazy {
        "${summarize(this)} Approve only if the other device is in front of you, by typing the code that it shows."
    }
}

/** Returns the part of a request that a person decides on. */
fun shownEnrollment(auth: TwoFactorAuth): ShownEnrollment = with(auth.request) {
    ShownEnrollment(
        id = auth.id.toString(),
        accountId = auth.accountId.toString(),
        message = message,
        device = PublicKey(srcDevice.algorithm, srcDevice.publicKey),
        appName = app.appName,
        name = srcDevice.name,
        model = "${srcDevice.deviceManufacturer} ${srcDevice.deviceModel}",
        system = "${srcDevice.osName} ${srcDevice.osVersion}",
        email = userOpInfo.signIn.email,
        ip = userOpInfo.signIn.ip,
        location = userOpInfo.signIn.location,
    )
}

private fun summarize(shown: ShownEnrollment): String {
    val details = listOf(shown.model, shown.system).map(::clean).filter(String::isNotEmpty).joinToString(", ")
    val device = "“${clean(shown.name).ifEmpty { "A device without a name" }}”" + if (details.isEmpty()) "" else " ($details)"
    val (email, ip, location) = listOf(shown.email, shown.ip, shown.location).map(::clean)
    val person = if (email.isEmpty()) "" else " as $email"
    val origin = if (ip.isEmpty()) "" else " from $ip" + if (location.isEmpty()) "" else " ($location)"
    return "$device asks to sign in to ${clean(shown.appName).ifEmpty { "an app" }}$person$origin. " +
        "If you approve, its key is added to your account ${shown.addition.address} with weight 1, " +
        "and it can then act for you together with the service, as this device can."
}

private const val MAX_NAME = 64

/**
 * Cleans text of unknown origin for one line: no control, invisible or direction-changing characters, no
 * quotes like ours, and a limited length.
 */
private fun clean(text: String): String {
    val plain = Normalizer.normalize(text, Normalizer.Form.NFC)
        .replace(Regex("[$HIDDEN_CHARACTERS\\p{Z}]+"), " ")
        .replace(Regex("[“”]"), "\"")
        .trim()
    if (plain.codePointCount(0, plain.length) <= MAX_NAME) return plain
    return plain.substring(0, plain.offsetByCodePoints(0, MAX_NAME)) + "…"
}
