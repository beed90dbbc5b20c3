import { createTokenState } from "@countersign/access-tokens";
import { createPool } from "@countersign/postgres";
import { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { AccessService } from "@countersign/proto/auth/v1/access.ts";
import { ContactsService } from "@countersign/proto/auth/v1/contacts.ts";
import { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import { SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import { SignUpService } from "@countersign/proto/auth/v1/sign_up.ts";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import { KeysService } from "@countersign/proto/key/v1/keys.ts";
import { createServiceRuntime, runService, type ServiceProcess } from "@countersign/runtime";
import { describeAccess, removeFromDeviceList } from "./clients/device-list.ts";
import { createOpenIdProvider } from "./clients/openid-provider.ts";
import { findSignInKey, listPasskeys, signUpSteps } from "./clients/sign-up-steps.ts";
import { admissionSteps, twoFactorRequests } from "./clients/two-factor-requests.ts";
import { createVerifyLogin } from "./clients/verify-login.ts";
import { loadConfig } from "./config.ts";
import { removeDevice } from "./domain/access/remove-device.ts";
import { freezeAccount, unfreezeAccount } from "./domain/freeze/freeze-account.ts";
import { holdAccount } from "./domain/freeze/hold-account.ts";
import { getContact } from "./domain/get-contact.ts";
import { endOtherSessions, endSession, signOut } from "./domain/sessions/end-session.ts";
import { refreshToken } from "./domain/sessions/refresh-token.ts";
import { issueChallenge } from "./domain/sign-in/issue-challenge.ts";
import { respondChallenge } from "./domain/sign-in/respond-challenge.ts";
import { signUp } from "./domain/sign-up/sign-up.ts";
import { admitApproved, admitDevice } from "./domain/two-factor/enroll-device.ts";
import { finishTwoFactor } from "./domain/two-factor/finish-two-factor.ts";
import { requestTwoFactor } from "./domain/two-factor/request-two-factor.ts";
import { startJwksServer } from "./http/jwks.ts";
import { finishAbandonedSignUps } from "./jobs/finish-abandoned-sign-ups.ts";
import { housekeeping } from "./jobs/housekeeping.ts";
import { endOtherSessionsRpc, endSessionRpc, signOutRpc } from "./rpc/end-session.ts";
import { finishTwoFactorRpc } from "./rpc/finish-two-factor.ts";
import { freezeAccountRpc, unfreezeAccountRpc } from "./rpc/freeze-account.ts";
import { getContactRpc } from "./rpc/get-contact.ts";
import { issueChallengeRpc } from "./rpc/issue-challenge.ts";
import { createLimit, createPollLimit } from "./rpc/limits.ts";
import { listSessionsRpc } from "./rpc/list-sessions.ts";
import { refreshTokenRpc } from "./rpc/refresh-token.ts";
import { removeDeviceRpc } from "./rpc/remove-device.ts";
import { requestTwoFactorRpc } from "./rpc/request-two-factor.ts";
import { respondChallengeRpc } from "./rpc/respond-challenge.ts";
import { signUpRpc } from "./rpc/sign-up.ts";
import { PrismaClient } from "./store/generated/client.ts";
import { prismaAccessStore } from "./store/prisma-access-store.ts";
import { prismaChallengeStore } from "./store/prisma-challenge-store.ts";
import { prismaContactStore } from "./store/prisma-contact-store.ts";
import { prismaExchangedCodeStore } from "./store/prisma-exchanged-code-store.ts";
import { prismaFreezeStore } from "./store/prisma-freeze-store.ts";
import { prismaHoldStore } from "./store/prisma-hold-store.ts";
import { prismaSessionStore } from "./store/prisma-session-store.ts";
import { prismaSignUpStore } from "./store/prisma-sign-up-store.ts";
import { prismaTokenKeyStore } from "./store/prisma-token-key-store.ts";
import { prismaTokenStateStore } from "./store/prisma-token-state-store.ts";
import { prismaTwoFactorSignInStore } from "./store/prisma-two-factor-sign-in-store.ts";
import { onChainAlert } from "./subscribers/chain-alert.ts";
import { onDeviceRemoved } from "./subscribers/device-removed.ts";
import { onKeyEvent } from "./subscribers/key-events.ts";
import { onTwoFactorChanged } from "./subscribers/two-factor-changed.ts";
import { createTokenKeys } from "./tokens/token-keys.ts";
import { createTokenStateFeed } from "./tokens/token-state-feed.ts";
import { createTokens } from "./tokens/tokens.ts";

const ABANDONED_SIGN_UPS_MS = 2_000;
const HOUSEKEEPING_MS = 60_000;

async function start(service: ServiceProcess) {
  const config = loadConfig(service.env);
  const runtime = createServiceRuntime(service, config);
  const { logger, clock, signal, onClose, readyCheck, tls } = runtime;
  const { databaseUrl } = config.secrets;
  const { chains, issuer, passkeys } = config;

  const prisma = runtime.database(PrismaClient);

  const keys = createTokenKeys({
    store: prismaTokenKeyStore(prisma),
    encryptionKey: config.secrets.tokenKeyEncryptionKey,
    clock,
    periodMs: config.tokenKeyPeriodMs,
  });
  await keys.rotate();
  const tokens = createTokens({ keys, issuer, clock });
  const feed = createTokenStateFeed({ store: prismaTokenStateStore(prisma), keys, clock, logger });
  runtime.listen("token_state", feed.notify);
  // Auth judges tokens by the same stream as everybody else, only without the network between.
  const tokenState = createTokenState({ clock });
  const following = (async () => {
    for await (const message of feed.watch("", signal)) tokenState.apply(message);
  })();
  onClose("token-state", () => following);
  readyCheck("token-state", () => tokenState.current());

  const accounts = runtime.client(AccountsService, "account");
  const registrations = runtime.client(KeysService, "key");
  const devices = runtime.client(DevicesService, "device");

  const providers = config.providers.map((provider) => createOpenIdProvider(provider, clock));
  // A code is exchanged inside of a transaction: with connections of its own, a slow provider holds up nobody else.
  const codes = runtime.connections(PrismaClient, 3);
  const verifyLogin = createVerifyLogin(providers, prismaExchangedCodeStore(codes, clock));
  const store = prismaSignUpStore(prisma);
  const sessions = prismaSessionStore(prisma);
  const challenges = prismaChallengeStore(prisma);
  const steps = signUpSteps({ accounts, keys: registrations, devices });
  const findKey = findSignInKey(registrations);
  const listKeys = listPasskeys(registrations);
  const { issue, issueEphemeral, readRefreshToken } = tokens;
  const { isKeyBlocked } = tokenState;

  const access = prismaAccessStore(prisma);
  runtime.consume({
    durable: "auth-device-removed",
    handler: onDeviceRemoved(access),
  });
  runtime.consume({ durable: "auth-key-events", handler: onKeyEvent(access) });
  runtime.consume({
    durable: "auth-chain-alerts",
    // In whatever order they come; not so many that those of one account, which wait for each other, take all connections.
    concurrency: 3,
    handler: onChainAlert(holdAccount({ holds: prismaHoldStore(prisma), clock })),
  });
  const signIns = prismaTwoFactorSignInStore(prisma);
  const requests = twoFactorRequests(runtime.client(TwoFactorService, "device"));
  const admit = admitDevice({ signIns, steps: admissionSteps({ keys: registrations, devices }), clock });
  const { describe } = requests;
  runtime.consume({
    durable: "auth-two-factor-changed",
    handler: onTwoFactorChanged({
      admit: admitApproved({ signIns, describe, admit }),
      endToken: signIns.endToken,
      signal,
    }),
  });
  const freezes = prismaFreezeStore(prisma);
  runtime.every(ABANDONED_SIGN_UPS_MS, "abandoned sign-ups", finishAbandonedSignUps({ store, steps, clock, logger }));
  runtime.every(HOUSEKEEPING_MS, "housekeeping", housekeeping({ prisma, keys, clock }));

  // Counts may be lost with the machine; waiting for the disk would cost each request more than the count.
  const limiters = createPool(databaseUrl, {
    connections: 2,
    applicationName: "limits",
    options: "-c synchronous_commit=off",
    onError: (err) => logger.warn({ err }, "lost Postgres"),
  });
  onClose("limits", () => limiters.end());

  const server = runtime
    .server({
      tokenState,
      tokens: { acceptEndedRequests: true },
      deadlines: {
        "auth.v1.SignUp/SignUp": 25_000,
        // Identity provider, chain and three services; each call of theirs has its own deadline.
        "auth.v1.SignIn/RequestTwoFactor": 10_000,
        "auth.v1.SignIn/FinishTwoFactor": 10_000,
      },
    })
    .add(SignUpService, {
      signUp: signUpRpc(
        signUp({ verifyLogin, store, sessions, steps, chains, passkeys, clock, issue }),
        createLimit(limiters, "sign-up", config.limits.signUp),
      ),
    })
    .add(SignInService, {
      issueChallenge: issueChallengeRpc(
        issueChallenge({
          verifyLogin,
          identities: store,
          challenges,
          findSignInKey: findKey,
          listPasskeys: listKeys,
          chains,
          clock,
          requireLoginToken: config.requireLoginToken,
          isKeyBlocked,
          // Whoever has left counts as frozen too, so that everybody else costs no question.
          hasLeft: async (accountId) => tokenState.isFrozen(accountId) && (await access.hasLeft(accountId)),
        }),
        createLimit(limiters, "challenge", config.limits.challenge),
      ),
      respondChallenge: respondChallengeRpc(
        respondChallenge({
          challenges,
          findSignInKey: findKey,
          listPasskeys: listKeys,
          passkeys,
          clock,
          isKeyBlocked,
          issue,
        }),
        accounts,
        signIns.additionOf,
        createLimit(limiters, "respond", config.limits.respond),
      ),
      requestTwoFactor: requestTwoFactorRpc(
        requestTwoFactor({
          verifyLogin,
          identities: store,
          signIns,
          requests,
          findSignInKey: findKey,
          chains,
          passkeys,
          clock,
          issueEphemeral,
        }),
        createLimit(limiters, "two-factor", config.limits.twoFactor),
      ),
      finishTwoFactor: finishTwoFactorRpc(
        finishTwoFactor({
          signIns,
          requests,
          admit,
          clock,
          limit: createPollLimit(limiters, "two-factor-poll"),
          issue,
        }),
        accounts,
      ),
    })
    .add(SessionsService, {
      refreshToken: refreshTokenRpc(
        refreshToken({ sessions, clock, read: readRefreshToken, issue }),
        createLimit(limiters, "refresh", config.limits.refresh),
      ),
      signOut: signOutRpc(signOut({ sessions, clock })),
      listSessions: listSessionsRpc(sessions, clock),
      endSession: endSessionRpc(endSession({ sessions, clock })),
      endOtherSessions: endOtherSessionsRpc(endOtherSessions({ sessions, clock })),
    })
    .add(AccessService, {
      freezeAccount: freezeAccountRpc(freezeAccount({ freezes, clock })),
      unfreezeAccount: unfreezeAccountRpc(unfreezeAccount({ freezes, clock, delays: config.unfreezeDelays })),
      removeDevice: removeDeviceRpc(
        removeDevice({
          access,
          freezes,
          delays: config.unfreezeDelays,
          clock,
          describeAccess: describeAccess(registrations),
          removeFromList: removeFromDeviceList(devices),
        }),
      ),
    })
    .add(ContactsService, { getContact: getContactRpc(getContact({ contacts: prismaContactStore(prisma) })) })
    .add(TokenStateService, {
      watch: ({ cursor }, call) => feed.watch(cursor, AbortSignal.any([call.signal, signal])),
    });

  const jwks = await startJwksServer({ listen: config.httpListen, tls, published: keys.published });
  onClose("jwks", () => jwks.close());
  await runtime.serve(server, tokenState);
}

await runService({ name: "auth", start });
