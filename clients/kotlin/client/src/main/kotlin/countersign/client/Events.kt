package countersign.client

import com.google.gson.JsonObject
import com.google.gson.JsonParser
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.channels.awaitClose
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.channelFlow
import kotlinx.coroutines.isActive
import kotlinx.coroutines.launch
import okhttp3.Call
import okhttp3.Request
import okio.BufferedSource
import java.io.EOFException
import java.io.IOException
import java.util.concurrent.TimeUnit
import kotlin.random.Random

/**
 * One event of the account, such as `two-factor.requested`. Ignore names and members that you do not know.
 */
data class AccountEvent(val id: String, val name: String, val data: JsonObject)

/** A connection without a byte for three heartbeats is lost. */
private const val SILENCE_SECONDS = 45L
private const val FIRST_RETRY_MS = 1_000L
private const val LONGEST_WAIT_MS = 30_000L
private const val MAX_EVENT_CHARACTERS = 1 shl 20

/**
 * Reads server-sent events until the stream ends; an event without an empty line after it is left out.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
internal class EventReader(var lastEventId: String = "", var retryMs: Long = FIRST_RETRY_MS) {
    /** `emit` returns false to stop reading. */
    inline fun read(source: BufferedSource, emit: (AccountEvent) -> Unit) {
        var name = ""
        var id = lastEventId
        val data = StringBuilder()
        while (true) {
            val line = try {
                source.readUtf8LineStrict(MAX_EVENT_CHARACTERS.toLong())
            } catch (_: EOFException) {
                return // the end of the stream, or a line that is too long
            }
            if (line.isEmpty()) {
                // Only now: an event that breaks off must come again.
                lastEventId = id
                // Each line of data is followed by a line feed; the last one does not count.
                if (data.isNotEmpty()) emit(eventOf(name, data.dropLast(1).toString()))
                name = ""
                data.clear()
                continue
            }
            val field = line.substringBefore(":")
            val value = line.substringAfter(":", "").removePrefix(" ")
            when (field) {
                "event" -> name = value
                "data" -> data.append(value).append('\n')
                "id" -> if ('\u0000' !in value) id = value
                "retry" -> retryMs = value.toUIntOrNull()?.toLong() ?: retryMs
            }
            if (data.length > MAX_EVENT_CHARACTERS) throw IOException("an event is too long")
        }
    }

    fun eventOf(name: String, data: String): AccountEvent =
        AccountEvent(lastEventId, name.ifEmpty { "message" }, JsonParser.parseString(data) as JsonObject)
}

/**
 * Follows the account's events across connections. The flow fails with ProblemException where a retry cannot
 * help, and ends when its collector does.
 */
internal fun followEvents(session: Session, baseUrl: String, lastEventId: String): Flow<AccountEvent> = channelFlow {
    val http = session.http.newBuilder().readTimeout(SILENCE_SECONDS, TimeUnit.SECONDS).callTimeout(0, TimeUnit.SECONDS).build()
    val reader = EventReader(lastEventId)
    var call: Call? = null
    launch(Dispatchers.IO) {
        var failures = 0
        while (isActive) {
            var waitMs = 0L
            try {
                val request = Request.Builder().url("$baseUrl/device/v1/events").header("Accept", "text/event-stream")
                if (reader.lastEventId.isNotEmpty()) request.header("Last-Event-ID", reader.lastEventId)
                call = http.newCall(request.build())
                call!!.execute().use { response ->
                    failures = 0
                    reader.read(response.body!!.source()) { event ->
                        val ended = event.name == "session.ended" && session.end(event.data["sessionId"]?.asString.orEmpty())
                        send(event)
                        if (ended) throw problemOf("SessionEnded")
                    }
                }
            } catch (error: IOException) {
                if (!isActive) return@launch
                if (error is ProblemException && !passes(error)) {
                    close(error)
                    return@launch
                }
                waitMs = 1_000 * ((error as? ProblemException)?.retryAfterSeconds ?: 0)
            }
            val backoffMs = minOf(LONGEST_WAIT_MS, reader.retryMs shl minOf(failures, 10)) * Random.nextDouble(0.5, 1.0)
            failures += 1
            delay(maxOf(waitMs, backoffMs.toLong()))
        }
    }
    awaitClose { call?.cancel() }
}

/** Returns whether the same request may succeed later: true except for a rejection by the service itself. */
private fun passes(error: ProblemException): Boolean =
    error.error == "Unknown" || error.status >= 500 || error.status == 429 || error.status == 408

private fun problemOf(code: String): ProblemException =
    SessionEndedException(401, JsonObject().apply { addProperty("error", code) }, null)
