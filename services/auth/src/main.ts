import { createTokenState, createTokenVerifier, untilCurrent } from "@countersign/access-tokens";
import { type ConsumerOptions, startConsumer, startOutboxPublisher } from "@countersign/events";
import { createPool, createPrismaAdapter, listenPostgres } from "@countersign/postgres";
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
import { createRpcClient, createRpcServer, type ServiceDefinition } from "@countersign/rpc";
import { loadPeers, loadTls, runService, type ServiceProcess } from "@countersign/runtime";
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
import { startHousekeeping } from "./jobs/housekeeping.ts";
import { startSignUpRunner } from "./jobs/sign-up-runner.ts";
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

async function start(service: ServiceProcess) {
  const { name, env, logger, metrics, clock, signal, drainMs, onClose, readyCheck } = service;
  const config = loadConfig(env);
  const { databaseUrl } = config.secrets;
  const tls = loadTls(config.tls);
  const { chains, issuer, passkeys } = config;

  const prisma = new PrismaClient({ adapter: createPrismaAdapter(databaseUrl) });
  onClose("database", () => prisma.$disconnect());
  readyCheck("database", async () => (await prisma.$queryRaw`SELECT 1`) !== undefined);
  const outbox = startOutboxPublisher({ databaseUrl, natsUrl: config.natsUrl, tls, logger, metrics });
  onClose("outbox", () => outbox.close());

  const keys = createTokenKeys({
    store: prismaTokenKeyStore(prisma),
    encryptionKey: config.secrets.tokenKeyEncryptionKey,
    clock,
    periodMs: config.tokenKeyPeriodMs,
  });
  await keys.rotate();
  const tokens = createTokens({ keys, issuer, clock });
  const feed = createTokenStateFeed({ store: prismaTokenStateStore(prisma), keys, clock, logger });
  const listener = listenPostgres({ databaseUrl, channel: "token_state", onNotify: feed.notify, logger });
  onClose("token-state-listener", () => listener.close());
  // Auth judges tokens by the same stream as everybody else, only without the network between.
  const tokenState = createTokenState({ clock });
  const following = (async () => {
    for await (const message of feed.watch("", signal)) tokenState.apply(message);
  })();
  onClose("token-state", () => following);
  readyCheck("token-state", () => tokenState.current());

  const client = <D extends ServiceDefinition>(definition: D, serverName: keyof typeof config.addresses) => {
    const address = config.addresses[serverName];
    const created = createRpcClient(definition, {
      address,
      tls,
      serverName,
      deadlineMs: 3000,
      metrics,
      coalesce: config.coalesceCalls,
    });
    onClose(serverName, () => created.close());
    return created;
  };
  const accounts = client(AccountsService, "account");
  const registrations = client(KeysService, "key");
  const devices = client(DevicesService, "device");

  const providers = config.providers.map((provider) => createOpenIdProvider(provider, clock));
  // A code is exchanged inside of a transaction: with connections of its own, a slow provider holds up nobody else.
  const codes = new PrismaClient({ adapter: createPrismaAdapter(databaseUrl, 3) });
  onClose("codes", () => codes.$disconnect());
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
  const consume = (title: string, options: Omit<ConsumerOptions, "natsUrl" | "tls" | "logger">) => {
    const consumer = startConsumer({ natsUrl: config.natsUrl, tls, logger, ...options });
    onClose(title, () => consumer.close());
  };
  consume("device-removed", {
    durable: "auth-device-removed",
    handler: onDeviceRemoved(access),
  });
  consume("key-events", { durable: "auth-key-events", handler: onKeyEvent(access) });
  consume("chain-alerts", {
    durable: "auth-chain-alerts",
    // In whatever order they come; not so many that those of one account, which wait for each other, take all connections.
    concurrency: 3,
    handler: onChainAlert(holdAccount({ holds: prismaHoldStore(prisma), clock })),
  });
  const signIns = prismaTwoFactorSignInStore(prisma);
  const requests = twoFactorRequests(client(TwoFactorService, "device"));
  const admit = admitDevice({ signIns, steps: admissionSteps({ keys: registrations, devices }), clock });
  const { describe } = requests;
  consume("two-factor-changed", {
    durable: "auth-two-factor-changed",
    handler: onTwoFactorChanged({
      admit: admitApproved({ signIns, describe, admit }),
      endToken: signIns.endToken,
      signal,
    }),
  });
  const freezes = prismaFreezeStore(prisma);
  const runner = startSignUpRunner({ store, steps, clock, logger });
  onClose("sign-up-runner", () => runner.close());
  const housekeeping = startHousekeeping({ prisma, keys, clock, logger });
  onClose("housekeeping", () => housekeeping.close());

  // Counts may be lost with the machine; waiting for the disk would cost each request more than the count.
  const limiters = createPool(databaseUrl, {
    connections: 2,
    applicationName: "limits",
    options: "-c synchronous_commit=off",
    onError: (err) => logger.warn({ err }, "lost Postgres"),
  });
  onClose("limits", () => limiters.end());

  const server = createRpcServer({
    name,
    tls,
    peers: loadPeers(config.peersFile),
    tokenVerifier: createTokenVerifier(tokenState, { issuer, clock, acceptEndedRequests: true }),
    logger,
    metrics,
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
  onClose("rpc", () => server.stop(drainMs));
  await untilCurrent(tokenState);
  await server.listen(config.listen);
}

await runService({ name: "auth", start });
