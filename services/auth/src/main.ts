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
import { enrollmentSteps, twoFactorRequests } from "./clients/two-factor-requests.ts";
import { createVerifyLogin } from "./clients/verify-login.ts";
import { loadConfig } from "./config.ts";
import { holdAccount } from "./domain/freeze/hold-account.ts";
import { enrollApproved, enrollDevice } from "./domain/two-factor/enroll-device.ts";
import { startJwksServer } from "./http/jwks.ts";
import { finishAbandonedSignUps } from "./jobs/finish-abandoned-sign-ups.ts";
import { accessHandlers } from "./rpc/access.ts";
import { contactsHandlers } from "./rpc/contacts.ts";
import { createLimit, createPollLimit } from "./rpc/limits.ts";
import { sessionsHandlers } from "./rpc/sessions.ts";
import { signInHandlers } from "./rpc/sign-in.ts";
import { signUpHandlers } from "./rpc/sign-up.ts";
import { deleteExpiredRows } from "./store/delete-expired-rows.ts";
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
  // auth checks tokens by the same stream as the other services, without the network.
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
  // A code is exchanged inside a transaction: its own connections keep a slow provider from blocking others.
  const codes = runtime.connections(PrismaClient, 3);
  const verifyLogin = createVerifyLogin(providers, prismaExchangedCodeStore(codes, clock));
  const store = prismaSignUpStore(prisma);
  const sessions = prismaSessionStore(prisma);
  const challenges = prismaChallengeStore(prisma);
  const steps = signUpSteps({ accounts, keys: registrations, devices });
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
    // Their order does not matter. Few at once: those of one account wait for each other and hold
    // connections.
    concurrency: 3,
    handler: onChainAlert(holdAccount({ holds: prismaHoldStore(prisma), clock })),
  });
  const signIns = prismaTwoFactorSignInStore(prisma);
  const requests = twoFactorRequests(runtime.client(TwoFactorService, "device"));
  const enroll = enrollDevice({ signIns, steps: enrollmentSteps({ keys: registrations, devices }), clock });
  const { describe } = requests;
  runtime.consume({
    durable: "auth-two-factor-changed",
    handler: onTwoFactorChanged({
      enroll: enrollApproved({ signIns, describe, enroll }),
      endToken: signIns.endToken,
      signal,
    }),
  });
  const freezes = prismaFreezeStore(prisma);
  runtime.every(ABANDONED_SIGN_UPS_MS, "abandoned sign-ups", finishAbandonedSignUps({ store, steps, clock, logger }));
  const deleteExpired = deleteExpiredRows(prisma);
  runtime.every(HOUSEKEEPING_MS, "housekeeping", async () => {
    await keys.rotate();
    await deleteExpired(clock.now());
  });

  // Counts may be lost with the machine; waiting for the disk would cost each request more than the count is
  // worth.
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
    .add(
      SignUpService,
      signUpHandlers(
        { verifyLogin, store, sessions, steps, chains, passkeys, clock, issue },
        createLimit(limiters, "sign-up", config.limits.signUp),
      ),
    )
    .add(
      SignInService,
      signInHandlers({
        verifyLogin,
        identities: store,
        challenges,
        signIns,
        requests,
        accounts,
        enroll,
        findSignInKey: findSignInKey(registrations),
        listPasskeys: listPasskeys(registrations),
        chains,
        passkeys,
        clock,
        requireLoginToken: config.requireLoginToken,
        isKeyBlocked,
        // An account that has left counts as frozen too, so that no other account costs a query.
        hasLeft: async (accountId) => tokenState.isFrozen(accountId) && (await access.hasLeft(accountId)),
        limits: {
          challenge: createLimit(limiters, "challenge", config.limits.challenge),
          respond: createLimit(limiters, "respond", config.limits.respond),
          twoFactor: createLimit(limiters, "two-factor", config.limits.twoFactor),
        },
        limitPolls: createPollLimit(limiters, "two-factor-poll"),
        issue,
        issueEphemeral,
      }),
    )
    .add(
      SessionsService,
      sessionsHandlers({
        sessions,
        clock,
        read: readRefreshToken,
        issue,
        refreshLimit: createLimit(limiters, "refresh", config.limits.refresh),
      }),
    )
    .add(
      AccessService,
      accessHandlers({
        access,
        freezes,
        delays: config.unfreezeDelays,
        clock,
        describeAccess: describeAccess(registrations),
        removeFromList: removeFromDeviceList(devices),
      }),
    )
    .add(ContactsService, contactsHandlers(prismaContactStore(prisma)))
    .add(TokenStateService, {
      watch: ({ cursor }, call) => feed.watch(cursor, AbortSignal.any([call.signal, signal])),
    });

  const jwks = await startJwksServer({ listen: config.httpListen, tls, published: keys.published });
  onClose("jwks", () => jwks.close());
  await runtime.serve(server, tokenState);
}

await runService({ name: "auth", start });
