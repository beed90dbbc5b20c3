package countersign.client

import com.google.gson.JsonParser
import countersign.api.models.Credentials
import countersign.api.models.NewDevice
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.onEach
import kotlinx.coroutines.flow.receiveAsFlow
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeout
import okhttp3.HttpUrl.Companion.toHttpUrl
import okhttp3.Interceptor
import okhttp3.OkHttpClient
import okhttp3.Request
import okhttp3.Response
import okhttp3.ResponseBody.Companion.toResponseBody
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Assertions.fail
import org.junit.jupiter.api.Tag
import org.junit.jupiter.api.Test
import java.util.UUID

/** The stack that tests/native/kotlin.test.ts names. */
internal object Stack {
    private fun variable(name: String) = System.getenv(name) ?: error("$name is missing: run npm run test:native")

    val gateway = variable("GATEWAY")
    val chainName = variable("CHAIN_NAME")

    /** Logs in at the development provider, as a person in a browser does. */
    fun logIn(email: String, nonce: String): Login {
        val url = variable("LOGIN_URL").toHttpUrl().newBuilder()
            .addQueryParameter("email", email).addQueryParameter("nonce", nonce).build()
        return OkHttpClient().newCall(Request.Builder().url(url).build()).execute().use { Login(it.body!!.string()) }
    }

    fun newEmail() = "kotlin-${UUID.randomUUID()}@example.com"

    suspend fun newPhone(credentials: CredentialStore = MemoryCredentials(), provesRefreshes: Boolean = false) =
        CountersignClient(gateway, MemoryKeyStore().loadOrCreate(), credentials, provesRefreshes)

    suspend fun signUp(phone: CountersignClient, email: String) =
        phone.signUp(logIn(email, phone.loginNonce), chainName, NewDevice(name = "First phone", type = "mobile"))
}

private const val GREETING = """transaction(text: String) {
  prepare(account: auth(SaveValue) &Account) {
    account.storage.save(text, to: /storage/greeting)
  }
}"""

@Tag("stack")
class StackTest {
    private fun story(work: suspend () -> Unit) = runBlocking(Dispatchers.Default) { withTimeout(60_000) { work() } }

    private suspend fun problem(work: suspend () -> Unit): ProblemException {
        try {
            work()
        } catch (error: ProblemException) {
            return error
        }
        return fail("the call was not refused")
    }

    @Test
    fun `signs up, out and in by challenge`() = story {
        val email = Stack.newEmail()
        val phone = Stack.newPhone()
        val account = Stack.signUp(phone, email).account
        assertEquals(SessionState.SIGNED_IN, phone.session.state.value)
        assertEquals(listOf("cadence", "evm"), account.addresses.map { it.chainType })
        phone.signOut()
        assertEquals(SessionState.SIGNED_OUT, phone.session.state.value)
        assertNull(phone.session.credentials)
        assertEquals(401, problem { phone.me() }.status)

        val signedIn = phone.signIn(Stack.logIn(email, phone.loginNonce), Stack.chainName)
        assertEquals(account.id, signedIn.account.id)
        assertEquals(account.id, phone.me().id)
    }

    @Test
    fun `refreshes, with a proof by the device's key, and ends where a token is used again`() = story {
        val store = MemoryCredentials()
        val phone = Stack.newPhone(store, provesRefreshes = true)
        Stack.signUp(phone, Stack.newEmail())
        val first = phone.session.credentials!!
        phone.refresh()
        val second = phone.session.credentials!!
        assertTrue(first.refreshToken != second.refreshToken)
        phone.me()

        // The service knows of the proof now and takes no refresh without one.
        val thief = CountersignClient(Stack.gateway, phone.deviceKey, MemoryCredentials().apply { save(second) })
        assertEquals("RefreshProofRequired", problem { thief.refresh() }.error)

        phone.refresh()
        store.save(first)
        problem { phone.refresh() }
        assertEquals(SessionState.ENDED, phone.session.state.value)
        assertNull(phone.session.credentials)
    }

    @Test
    fun `an expired access token is exchanged once for calls at the same time`() = story {
        val saved = java.util.Collections.synchronizedList(mutableListOf<Credentials?>())
        val memory = MemoryCredentials()
        val store = object : CredentialStore by memory {
            override fun save(credentials: Credentials?) {
                saved += credentials
                memory.save(credentials)
            }
        }
        val late = ExpiredTokens()
        val http = OkHttpClient.Builder().addNetworkInterceptor(late).build()
        val phone = CountersignClient(Stack.gateway, MemoryKeyStore().loadOrCreate(), store, http = http)
        val account = Stack.signUp(phone, Stack.newEmail()).account
        late.expired = phone.session.credentials!!.accessToken
        coroutineScope {
            val asked = List(4) { async { phone.me().id } }
            asked.forEach { assertEquals(account.id, it.await()) }
        }
        assertEquals(2, saved.size, "the sign-up's pair, and one more")
    }

    @Test
    fun `signs a transaction that is sealed, and passes on why one is refused`() = story {
        val phone = Stack.newPhone()
        Stack.signUp(phone, Stack.newEmail())
        val network = phone.account.listNetworks().networks.first { it.chainName == Stack.chainName }
        val signed = mutableListOf<String>()
        val id = phone.sendTransaction(network, GREETING, listOf(CadenceValue.string("hello é 🦊"))) { signed += it }
        assertEquals(listOf(id), signed)
        awaitSeal(network, id)

        val refused = problem { phone.sendTransaction(network, "transaction { prepare(a: auth(AddKey) &Account) {} }") }
        assertEquals("SigningRefused", refused.error)
        assertTrue(refused.reason.isNotEmpty())

        // A second greeting panics on chain: there is one already.
        try {
            phone.sendTransaction(network, GREETING, listOf(CadenceValue.string("again")))
            fail("the chain took it")
        } catch (error: TransactionFailedException) {
            assertTrue("cadence runtime error" in error.message!!.lowercase(), error.message)
        }
    }

    @Test
    fun `enrolls a second phone with the matching code, announced by an event`() = story {
        val email = Stack.newEmail()
        val (phone, tablet) = List(2) { Stack.newPhone() }
        val account = Stack.signUp(phone, email).account
        coroutineScope {
            val events = Channel<AccountEvent>(Channel.UNLIMITED)
            val followed = launch { phone.events("1").collect(events::send) }
            suspend fun next(name: String) = events.receiveAsFlow().first { it.name == name }
            // From an id of long ago on, the stream begins with the past: now it is open.
            events.receive()
            val requested = tablet.requestEnrollment(
                Stack.logIn(email, tablet.loginNonce),
                Stack.chainName,
                NewDevice(name = "Tablet", type = "mobile"),
            )
            val id = next("two-factor.requested").data["id"].asString
            assertEquals(listOf(id), phone.pendingEnrollments().map { it.id })
            assertEquals(requested.twoFactorAuth.id.toString(), id)
            val shown = phone.enrollment(id)
            val code = tablet.matchingCode()
            assertTrue(shown.description.startsWith("“Tablet” asks to sign in to"), shown.description)

            val wrong = runCatching { phone.approveEnrollment(id, "0000-0000") }.exceptionOrNull()
            assertTrue(wrong is EnrollmentException, "$wrong")
            phone.approveEnrollment(id, code.lowercase().replace("-", " "))
            assertEquals(account.id, tablet.awaitEnrollment(requested).account.id)
            // As after an answer that was lost.
            val again = tablet.awaitEnrollment(requested) {
                tablet.signIn(Stack.logIn(email, tablet.loginNonce), Stack.chainName)
            }
            assertEquals(account.id, again.account.id)
            assertEquals(account.id, tablet.me().id)
            assertEquals(tablet.deviceKey.publicKey, next("key.added").data["publicKey"].asString)
            followed.cancel()
        }
        val devices = phone.devices.listDevices().devices.map { it.publicKey }.toSet()
        assertEquals(setOf(phone.deviceKey.publicKey, tablet.deviceKey.publicKey), devices)
    }

    @Test
    fun `a rejected phone gets no session`() = story {
        val email = Stack.newEmail()
        val (phone, tablet) = List(2) { Stack.newPhone() }
        Stack.signUp(phone, email)
        val requested =
            tablet.requestEnrollment(Stack.logIn(email, tablet.loginNonce), Stack.chainName, NewDevice(name = "Tablet"))
        phone.rejectEnrollment(phone.pendingEnrollments().single().id)
        assertEquals("TwoFactorAuthRejected", problem { tablet.awaitEnrollment(requested) }.error)
        assertEquals(SessionState.SIGNED_OUT, tablet.session.state.value)
    }

    @Test
    fun `the end of a session arrives as the last event, and the client drops its tokens`() = story {
        val phone = Stack.newPhone()
        Stack.signUp(phone, Stack.newEmail())
        // Another client with the same tokens signs out.
        val other = CountersignClient(Stack.gateway, phone.deviceKey, MemoryCredentials().apply { save(phone.session.credentials) })
        val ended = coroutineScope {
            val opened = Channel<AccountEvent>(Channel.UNLIMITED)
            val events = async { runCatching { phone.events("1").onEach { opened.send(it) }.collect {} } }
            opened.receive()
            other.signOut()
            events.await().exceptionOrNull()
        }
        assertTrue(ended is SessionEndedException, "$ended")
        assertEquals(SessionState.ENDED, phone.session.state.value)
    }
}

/** Answers calls with one access token as if it had expired. */
private class ExpiredTokens : Interceptor {
    @Volatile var expired = ""

    override fun intercept(chain: Interceptor.Chain): Response {
        val response = chain.proceed(chain.request())
        if (expired.isEmpty() || chain.request().header("Authorization") != "Bearer $expired") return response
        response.close()
        val body = """{"error":"AccessTokenExpired"}""".toResponseBody()
        return response.newBuilder().code(401).removeHeader("Content-Length").body(body).build()
    }
}
