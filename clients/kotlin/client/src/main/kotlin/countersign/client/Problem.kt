package countersign.client

import com.google.gson.JsonArray
import com.google.gson.JsonElement
import com.google.gson.JsonObject
import com.google.gson.JsonParseException
import com.google.gson.JsonParser
import okhttp3.Response
import java.io.IOException

/**
 * The service's error answer (RFC 9457). `error` is the stable code, such as `PleaseRegisterKey`; `Unknown`
 * where the answer was no problem document. Treat an unknown code by its `status`.
 */
open class ProblemException internal constructor(
    val status: Int,
    private val document: JsonObject,
    val retryAfterSeconds: Long?,
) : IOException() {
    val error: String get() = text("error").ifEmpty { "Unknown" }

    /** For SigningRefused: the rule that rejected; "" otherwise. */
    val reason: String get() = text("reason")
    val title: String get() = text("title")
    val detail: String get() = text("detail")

    /** For TimeLockRequired: when the same request is granted (ISO 8601); "" otherwise. */
    val availableAt: String get() = text("availableAt")

    /** For the service's logs. */
    val requestId: String get() = text("instance")

    /** With each field that is not valid, and why. */
    override val message: String
        get() {
            val fields = (document["errors"] as? JsonArray)?.mapNotNull(::fieldProblem).orEmpty().joinToString("; ")
            val rule = if (reason.isEmpty()) "" else " ($reason)"
            return "$status $error$rule: $detail" + if (fields.isEmpty()) "" else ": $fields"
        }

    private fun text(name: String): String = document.string(name).orEmpty()
}

private fun JsonObject.string(name: String): String? =
    this[name]?.takeIf { it.isJsonPrimitive && it.asJsonPrimitive.isString }?.asString

/** Returns where a field is and what is wrong with it; null for another shape, as other programs send. */
private fun fieldProblem(field: JsonElement): String? {
    val pointer = (field as? JsonObject)?.string("pointer") ?: return null
    return field.string("detail")?.let { "$pointer $it" }
}

/** The session is over and its tokens are dropped; only signing in opens another one. */
class SessionEndedException internal constructor(status: Int, document: JsonObject, retryAfterSeconds: Long?) :
    ProblemException(status, document, retryAfterSeconds)

private val SESSION_ENDED = setOf("SessionEnded", "InvalidRefreshToken", "RefreshTokenReused")

/** Reads and closes an answer that is not a success. */
internal fun problemOf(response: Response): ProblemException = response.use {
    val document = try {
        JsonParser.parseString(it.body?.string().orEmpty()) as? JsonObject
    } catch (_: JsonParseException) {
        null
    } ?: JsonObject()
    val retryAfter = it.header("Retry-After")?.toLongOrNull()
    val problem = ProblemException(it.code, document, retryAfter)
    if (it.code == 401 && problem.error in SESSION_ENDED) SessionEndedException(it.code, document, retryAfter) else problem
}
