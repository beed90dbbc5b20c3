package countersign.client

import com.google.gson.JsonObject
import com.google.gson.JsonParser
import countersign.api.infrastructure.Serializer
import countersign.api.models.Credentials
import countersign.api.models.CredentialsResponse
import countersign.api.models.RefreshTokenRequest
import kotlinx.coroutines.flow.MutableStateFlow
import kotlinx.coroutines.flow.StateFlow
import kotlinx.coroutines.flow.asStateFlow
import kotlinx.coroutines.runBlocking
import okhttp3.Interceptor
import okhttp3.MediaType.Companion.toMediaType
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.RequestBody.Companion.toRequestBody
import okhttp3.Response
import java.io.IOException
import java.util.Base64
import java.util.concurrent.TimeUnit

/** Where the session's tokens are kept: on Android encrypted, in `noBackupFilesDir`. One client per store. */
interface CredentialStore {
    fun load(): Credentials?

    /** Stores the next pair; null removes it. */
    fun save(credentials: Credentials?)
}

/** Keeps the tokens while the process runs. */
class MemoryCredentials : CredentialStore {
    @Volatile private var credentials: Credentials? = null

    override fun load(): Credentials? = credentials

    override fun save(credentials: Credentials?) {
        this.credentials = credentials
    }
}

enum class SessionState { SIGNED_OUT, SIGNED_IN, ENDED }

private const val REFRESH_TRIES = 3

/** The service accepts the last used refresh token again for 30 seconds. */
private const val REFRESH_SECONDS = 20L
private const val READ_TRIES = 3
private val JSON = "application/json".toMediaType()

/**
 * The tokens of a session: sent along with each call, and exchanged for the next pair when the access token
 * has expired, once for all calls at the same time. Tokens are dropped when the service says that the session
 * is over, and by nothing else.
 */
class Session internal constructor(
    private val baseUrl: String,
    private val store: CredentialStore,
    private val key: UserKey,
    private val provesRefreshes: Boolean,
    http: OkHttpClient,
) {
    /** Sends without a token; every answer that is no success is a ProblemException. */
    internal val plain: OkHttpClient = http.newBuilder().addInterceptor(::repeatReads).build()

    /** Sends with the session's token. */
    internal val http: OkHttpClient =
        http.newBuilder().addInterceptor(::asIo).addInterceptor(::withAccess).addInterceptor(::repeatReads).build()

    /** A pair that the store failed to save: newer than what is there. */
    @Volatile private var unsaved: Credentials? = null

    private val states = MutableStateFlow(if (load() == null) SessionState.SIGNED_OUT else SessionState.SIGNED_IN)
    private val lock = Any()

    val state: StateFlow<SessionState> = states.asStateFlow()
    val credentials: Credentials? get() = load()

    /** Sends with a token of its own, such as a request's ephemeral one. */
    internal fun with(accessToken: String): OkHttpClient =
        plain.newBuilder().addInterceptor { it.proceed(authorized(it.request(), accessToken)) }.build()

    /** Tokens of another key are none: a backup brings them to a phone that has a key of its own. */
    private fun load(): Credentials? =
        unsaved ?: store.load()?.takeIf { accountKey(it) in listOf(null, key.publicKey) }

    internal fun keep(credentials: Credentials?, state: SessionState) = synchronized(lock) {
        unsaved = credentials
        states.value = state
        store.save(credentials)
        unsaved = null
    }

    /** Ends the session where it is the one with this id; returns whether it was. */
    internal fun end(sessionId: String): Boolean = synchronized(lock) {
        val isOwn = claim(load(), "sid") == sessionId
        if (isOwn) keep(null, SessionState.ENDED)
        isOwn
    }

    /** Forgets the session that a sign-out has ended, and none that was opened meanwhile. */
    internal fun leave(used: Credentials?) = synchronized(lock) {
        val current = load()
        if (current == null || claim(current, "sid") == claim(used, "sid")) keep(null, SessionState.SIGNED_OUT)
    }

    /** Exchanges the refresh token for the next pair. */
    internal fun refresh(used: Credentials): Credentials = synchronized(lock) {
        val stored = load() ?: throw ended()
        if (stored.refreshToken != used.refreshToken) return stored
        val next = try {
            exchange(used)
        } catch (error: SessionEndedException) {
            keep(null, SessionState.ENDED)
            throw error
        }
        keep(next, SessionState.SIGNED_IN)
        return next
    }

    private fun withAccess(chain: Interceptor.Chain): Response {
        val used = load() ?: return chain.proceed(chain.request())
        try {
            return chain.proceed(authorized(chain.request(), used.accessToken))
        } catch (error: SessionEndedException) {
            drop(used)
            throw error
        } catch (error: ProblemException) {
            if (error.error != "AccessTokenExpired") throw error
        }
        val next = refresh(used)
        // Somebody else has signed in: a call of one person is never sent in another's name.
        if (claim(next, "sub") != claim(used, "sub")) throw ended()
        try {
            return chain.proceed(authorized(chain.request(), next.accessToken))
        } catch (error: SessionEndedException) {
            drop(next)
            throw error
        }
    }

    private fun drop(used: Credentials) = synchronized(lock) {
        if (load()?.refreshToken == used.refreshToken) keep(null, SessionState.ENDED)
    }

    /** Lost answers: the same token again gives the same pair, for half a minute. */
    private fun exchange(used: Credentials): Credentials {
        // Given a key, each refresh is signed with it, and from the first time on the service requires that.
        val proof =
            if (provesRefreshes) runBlocking { key.sign(refreshProofMessage(used.refreshToken)) }.toHex() else null
        val body = Serializer.gson.toJson(RefreshTokenRequest(used.refreshToken, proof)).toRequestBody(JSON)
        val request = Request.Builder().url("$baseUrl/auth/v1/token/refresh").post(body).build()
        val client = plain.newBuilder().callTimeout(REFRESH_SECONDS / REFRESH_TRIES, TimeUnit.SECONDS).build()
        for (count in 1..REFRESH_TRIES) {
            try {
                val text = client.newCall(request).execute().use { it.body?.string() }
                return Serializer.gson.fromJson(text, CredentialsResponse::class.java).credentials
            } catch (error: IOException) {
                if (!isLost(error) || count == REFRESH_TRIES) throw error
            }
        }
        error("unreachable")
    }

    internal fun ended() = SessionEndedException(401, JsonObject().apply { addProperty("error", "SessionEnded") }, null)
}

private fun authorized(request: Request, accessToken: String): Request =
    request.newBuilder().header("Authorization", "Bearer $accessToken").build()

/** Returns whether nothing is known of what became of a request. Proxies have their own statuses, as 522. */
internal fun isLost(error: IOException): Boolean = error !is ProblemException || error.status >= 502

/** OkHttp throws other exceptions, as of the store, on its own thread too, which ends an Android app. */
private fun asIo(chain: Interceptor.Chain): Response = try {
    chain.proceed(chain.request())
} catch (error: Exception) {
    throw error as? IOException ?: IOException(error.toString(), error)
}

/** Makes errors of answers, and sends a read again where its answer was lost. Nothing else is sent twice. */
private fun repeatReads(chain: Interceptor.Chain): Response {
    val request = chain.request()
    for (count in 1..READ_TRIES) {
        try {
            val response = chain.proceed(request)
            // A page of a proxy, for example, is no answer of the service.
            if (response.isSuccessful && response.body?.contentType()?.subtype != "html") return response
            throw problemOf(response)
        } catch (error: IOException) {
            val isRead = request.method == "GET" && !chain.call().isCanceled()
            if (!isRead || !isLost(error) || count == READ_TRIES) throw error
        }
    }
    error("unreachable")
}

/** Reads the claims of an access token without verifying them; the services do. */
private fun claims(credentials: Credentials?): JsonObject? = runCatching {
    val payload = credentials?.accessToken?.split(".")?.get(1)
    JsonParser.parseString(String(Base64.getUrlDecoder().decode(payload))) as JsonObject
}.getOrNull()

internal fun claim(credentials: Credentials?, name: String): String? =
    runCatching { claims(credentials)?.get(name)?.asString }.getOrNull()

/** The key that the session signs with on chain. */
private fun accountKey(credentials: Credentials): String? =
    runCatching { claims(credentials)?.getAsJsonObject("account_key")?.get("key")?.asString }.getOrNull()
