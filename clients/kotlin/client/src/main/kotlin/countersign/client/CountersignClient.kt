package countersign.client

import countersign.api.apis.AccountApi
import countersign.api.apis.AuthApi
import countersign.api.apis.DevicesApi
import countersign.api.apis.SigningApi
import countersign.api.models.Account
import countersign.api.models.Algorithm
import countersign.api.models.ChallengeAnswer
import countersign.api.models.ChallengeRequest
import countersign.api.models.DeviceKeyChallengeAnswer
import countersign.api.models.FinishTwoFactorRequest
import countersign.api.models.KeyChallengeRequest
import countersign.api.models.KeySignature
import countersign.api.models.LoginMethod
import countersign.api.models.LoginOnChain
import countersign.api.models.NewDevice
import countersign.api.models.NewUserKey
import countersign.api.models.SignUpRequest
import countersign.api.models.SignedIn
import countersign.api.models.TwoFactorApproval
import countersign.api.models.TwoFactorEnrollmentRequest
import countersign.api.models.TwoFactorRequested
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.delay
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.withContext
import okhttp3.OkHttpClient
import java.io.IOException
import java.util.UUID
import java.util.concurrent.TimeUnit

/** A login at the identity provider, bound to this device's key by `loginNonce`: its ID token. */
data class Login(val token: String, val method: LoginMethod = LoginMethod.id_token_channel, val provider: String = "")

/** A sign-up waits for the chain. */
private const val ANSWER_SECONDS = 30L
private const val APPROVAL_TRIES = 3
private const val ASK_AGAIN_MS = 1_000L

/**
 * One device's side of the API. It signs what must be signed, keeps the session's tokens, and refreshes an
 * expired access token by itself. `account`, `devices`, `signing` and `auth` are the generated operations
 * with the session's token. Every call throws ProblemException where the service refuses.
 *
 * `provesRefreshes`: each refresh is signed by the device's key, and the service requires it from the first
 * time on; for keys that sign without a dialog.
 */
class CountersignClient(
    baseUrl: String,
    val deviceKey: UserKey,
    credentials: CredentialStore = MemoryCredentials(),
    provesRefreshes: Boolean = false,
    http: OkHttpClient = OkHttpClient(),
) {
    private val baseUrl = baseUrl.trimEnd('/')

    // A request that is no read is never sent twice: not by OkHttp either.
    private val http = http.newBuilder().retryOnConnectionFailure(false).followRedirects(false)
        .readTimeout(ANSWER_SECONDS, TimeUnit.SECONDS).callTimeout(ANSWER_SECONDS, TimeUnit.SECONDS).build()
    internal val sending = Mutex()

    val session = Session(this.baseUrl, credentials, deviceKey, provesRefreshes, this.http)
    val auth = AuthApi(this.baseUrl, session.http)
    val account = AccountApi(this.baseUrl, session.http)
    val devices = DevicesApi(this.baseUrl, session.http)
    val signing = SigningApi(this.baseUrl, session.http)
    private val open = AuthApi(this.baseUrl, session.plain)

    /** The `nonce` to log in with: it binds the login to this device's key. */
    val loginNonce: String get() = keyFingerprint(deviceKey.publicKey)

    private val ownKey get() = PublicKey(deviceKey.algorithm, deviceKey.publicKey)
    private val algorithm get() = Algorithm.entries.first { it.value == deviceKey.algorithm }

    private fun userKey(device: NewDevice) =
        NewUserKey("device", deviceKey.publicKey, device.copy(publicKey = deviceKey.publicKey, algorithm = algorithm), algorithm)

    private fun on(login: Login, chainName: String) =
        LoginOnChain(login.method, login.token, chainName, login.provider, nonce = loginNonce)

    private suspend fun opened(signedIn: SignedIn): SignedIn = signedIn.also {
        changed { session.keep(it.credentials, SessionState.SIGNED_IN) }
    }

    /** Waits for the store, and for a refresh under way: not on the app's main thread, and to the end. */
    private suspend fun changed(work: () -> Unit) = withContext(Dispatchers.IO + NonCancellable) { work() }

    /**
     * Creates an account with this device's key and opens a session. Never sent twice without
     * `idempotencyKey`.
     */
    suspend fun signUp(login: Login, chainName: String, device: NewDevice, idempotencyKey: String? = null): SignedIn {
        val request = SignUpRequest(login.method, login.token, chainName, userKey(device), login.provider, nonce = loginNonce)
        val api = if (session.credentials == null) open else auth
        return opened(api.signUp(request, idempotencyKey))
    }

    /** Requests a challenge, signs it and opens a session. */
    suspend fun signIn(login: Login, chainName: String): SignedIn {
        val asked = KeyChallengeRequest(
            "deviceKey",
            on(login, chainName),
            deviceKey.publicKey,
            algorithm,
        )
        val challenge = open.issueChallenge(ChallengeRequest(asked))
        val signature = deviceKey.sign(challengeMessage(challenge.challengeData)).toHex()
        val answer = DeviceKeyChallengeAnswer(
            DeviceKeyChallengeAnswer.ChallengeType.deviceKey,
            challenge.challengeData,
            KeySignature(signature),
        )
        return opened(open.respondChallenge(ChallengeAnswer(answer)))
    }

    /**
     * Exchanges the refresh token for the next pair; expired access tokens are exchanged without this call.
     */
    suspend fun refresh() {
        val used = session.credentials ?: error("there is no session to refresh")
        withContext(Dispatchers.IO) { session.refresh(used) }
    }

    /** Ends the session and forgets its tokens; a session that is over already is no error. */
    suspend fun signOut() {
        val used = session.credentials
        try {
            if (used != null) auth.signOut()
        } catch (error: ProblemException) {
            if (error.status != 401) throw error
        }
        changed { session.leave(used) }
    }

    /** The account of the session. */
    suspend fun me(): Account = account.getMe().account

    /** The account's events as they happen, after `lastEventId` if there is one. Resumes by itself. */
    fun events(lastEventId: String = ""): Flow<AccountEvent> = followEvents(session, baseUrl, lastEventId)

    /**
     * Requests the enrollment of this device, which is new to the account. Then show `matchingCode`. With
     * `recovery`, a client that is signed in with the account's recovery key, requests of others do not fill
     * this one's place.
     */
    suspend fun requestEnrollment(
        login: Login,
        chainName: String,
        device: NewDevice,
        idempotencyKey: String? = null,
        recovery: CountersignClient? = null,
    ): TwoFactorRequested {
        val request = TwoFactorEnrollmentRequest(on(login, chainName), userKey(device))
        return (recovery?.auth ?: open).requestTwoFactor(request, idempotencyKey)
    }

    /** A code to show on this new device until a registered one has decided. Never send it anywhere. */
    fun matchingCode(): String = matchingCode(ownKey, ownKey)

    /**
     * Opens this new device's session as soon as a registered device has approved it and the chain has sealed
     * it. Throws ProblemException when the request is rejected, expired or failed. `signIn` is called where
     * the answer was lost: the device is registered then. Without it that is a ProblemException too,
     * TwoFactorAuthFinished.
     */
    suspend fun awaitEnrollment(requested: TwoFactorRequested, signIn: (suspend () -> SignedIn)? = null): SignedIn {
        val api = AuthApi(baseUrl, session.with(requested.ephemeralAccessToken))
        val request = FinishTwoFactorRequest(requested.twoFactorAuth.id.toString())
        while (true) {
            val signedIn = try {
                api.finishTwoFactor(request)
            } catch (error: IOException) {
                val problem = error as? ProblemException
                if (problem?.error == "TwoFactorAuthFinished" && signIn != null) return signIn()
                val waits = problem?.error == "TwoFactorAuthPending" || problem?.status == 429
                if (!waits && problem != null && problem.status < 500) throw error
                delay(maxOf(ASK_AGAIN_MS, 1_000 * (problem?.retryAfterSeconds ?: 0)))
                null
            }
            // Outside: a store that fails is no lost answer.
            if (signedIn != null) return opened(signedIn)
        }
    }

    /** The requests of new devices that wait for a decision. */
    suspend fun pendingEnrollments(): List<ShownEnrollment> =
        devices.listTwoFactor("pending").twoFactorAuths.map(::shownEnrollment)

    /** One request, as a person decides on it. */
    suspend fun enrollment(id: String): ShownEnrollment = shownEnrollment(devices.getTwoFactor(id).twoFactorAuth)

    /**
     * Approves a request with the code that the person typed. Signs only a message that adds one key to this
     * account, the key of that code. Throws EnrollmentException, and signs nothing, for any other.
     */
    suspend fun approveEnrollment(id: String, typedCode: String) {
        val account = me()
        var checked: PublicKey? = null
        for (count in 1..APPROVAL_TRIES) {
            val auth = devices.getTwoFactor(id).twoFactorAuth
            val shown = shownEnrollment(auth)
            check(shown, account, typedCode, checked)
            checked = shown.addition.key
            val signature = deviceKey.sign(hexToBytes(shown.message)).toHex()
            try {
                // By the id of exactly this message: if the request has another one by now, the service
                // rejects it.
                return devices.approveTwoFactor(auth.request.id.toString(), TwoFactorApproval(KeySignature(signature)))
            } catch (error: ProblemException) {
                if (error.error != "MessageRenewed" || count == APPROVAL_TRIES) throw error
            }
        }
    }

    private fun check(shown: ShownEnrollment, account: Account, typedCode: String, earlier: PublicKey?) {
        val isOwn = account.addresses.any { it.chainType == "cadence" && it.address == shown.addition.address }
        if (!isOwn || UUID.fromString(shown.accountId) != account.id) {
            throw EnrollmentException("the message is about another account")
        }
        if (!shown.isMatchingCode(typedCode)) throw EnrollmentException("the codes are not the same")
        if (earlier != null && earlier != shown.addition.key) {
            throw EnrollmentException("the renewed message adds another key")
        }
    }

    /** Rejects a request, for good. */
    suspend fun rejectEnrollment(id: String) = devices.rejectTwoFactor(id)
}
