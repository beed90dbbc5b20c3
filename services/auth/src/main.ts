import { adminHandlers } from "@countersign/admin-actions";
import { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { AdminService } from "@countersign/proto/admin/v1/admin.ts";
import { AccessService } from "@countersign/proto/auth/v1/access.ts";
import { AdminService as AuthAdminService } from "@countersign/proto/auth/v1/admin.ts";
import { ContactsService } from "@countersign/proto/auth/v1/contacts.ts";
import { SessionsService } from "@countersign/proto/auth/v1/sessions.ts";
import { SignInService } from "@countersign/proto/auth/v1/sign_in.ts";
import { SignUpService } from "@countersign/proto/auth/v1/sign_up.ts";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { TwoFactorService } from "@countersign/proto/device/v1/two_factor.ts";
import { KeyOrigin, KeysService } from "@countersign/proto/key/v1/keys.ts";
import { createServiceRuntime, runService, type ServiceProcess } from "@countersign/runtime";
import { describeAccess, removeFromDeviceList } from "./clients/device-list.ts";
import { openProviders } from "./clients/open-providers.ts";
import { findSignInKey, listPasskeys, recordKeyUse } from "./clients/sign-in-keys.ts";
import { cancelDeployment, registrationSteps, signUpSteps } from "./clients/sign-up-steps.ts";
import { twoFactorRequests } from "./clients/two-factor-requests.ts";
import { createVerifyLogin } from "./clients/verify-login.ts";
import { loadConfig } from "./config.ts";
import { requireAttestation } from "./domain/attestation.ts";
import { enrollApproved, enrollDevice } from "./domain/two-factor/enroll-device.ts";
import { finishAbandonedSignUps } from "./jobs/finish-abandoned-sign-ups.ts";
import { observeOpenSignUps } from "./jobs/observe-open-sign-ups.ts";
import { accessHandlers } from "./rpc/access.ts";
import { authAdminHandlers } from "./rpc/admin.ts";
import { contactsHandlers } from "./rpc/contacts.ts";
import { sessionsHandlers } from "./rpc/sessions.ts";
import { signInHandlers } from "./rpc/sign-in.ts";
import { signUpHandlers } from "./rpc/sign-up.ts";
import { tokenStateHandlers } from "./rpc/token-state.ts";
import { openStores } from "./store/open-stores.ts";
import { startConsumers } from "./subscribers/start-consumers.ts";
import { startTokens } from "./tokens/start-tokens.ts";

const ABANDONED_SIGN_UPS_MS = 2_000;
const HOUSEKEEPING_MS = 60_000;
/** Milliseconds: they wait for the identity provider, the chain and three services, or delete many rows. */
const DEADLINES = {
  "auth.v1.SignUp/SignUp": 25_000,
  "auth.v1.Admin/ResumeSignUp": 25_000,
  "auth.v1.Admin/CancelSignUp": 40_000,
  "auth.v1.Admin/ErasePerson": 25_000,
  "auth.v1.Admin/DecideRequest": 25_000,
  "auth.v1.SignIn/RequestTwoFactor": 10_000,
  "auth.v1.SignIn/FinishTwoFactor": 10_000,
};
async function start(service: ServiceProcess) {
  const config = loadConfig(service.env, service.files);
  const runtime = createServiceRuntime(service, config);
  const { logger, clock, signal } = runtime;
  const { chains, passkeys, unfreezeTimeLocks, requireLoginToken } = config;

  const { deleteExpired, ...stores } = await openStores(runtime, config.limits);
  const { blockedKeys, hasLeft } = stores.blockedKeys;
  const blockedNow = (accountId: string) => blockedKeys(accountId, clock.now());
  const { access, challenges, freezes, limits, sessions, signIns, signUps } = stores;
  const { rotate, feed, tokenState, tokens } = await startTokens(runtime, config, stores);
  const { issue, issueEphemeral, issueIdentity, readRefreshToken } = tokens;

  const accounts = runtime.client(AccountsService, "account");
  const registrations = runtime.client(KeysService, "key");
  const devices = runtime.client(DevicesService, "device");
  const requests = twoFactorRequests(runtime.client(TwoFactorService, "device"));
  const verifyLogin = createVerifyLogin(openProviders(config.providers, clock), stores.codes);
  const policyOf = (appId: string) => config.attestation.current().get(appId);
  const steps = signUpSteps({ accounts, keys: registrations, devices });
  const enrolling = registrationSteps({ keys: registrations, devices }, KeyOrigin.KEY_ORIGIN_TWO_FACTOR);
  const enroll = enrollDevice({ signIns, steps: enrolling, clock });

  const enrollAfterApproval = enrollApproved({ signIns, describe: requests.describe, enroll });
  const { endToken } = signIns;
  startConsumers(runtime.consume, { ...stores, clock, enroll: enrollAfterApproval, endToken, signal });
  const abandoned = finishAbandonedSignUps({ store: signUps, steps, clock, logger });
  runtime.every(ABANDONED_SIGN_UPS_MS, "abandoned sign-ups", abandoned);
  observeOpenSignUps(runtime, () => stores.openSignUps([...chains]));
  runtime.every(HOUSEKEEPING_MS, "housekeeping", async () => {
    await rotate();
    return deleteExpired(clock.now());
  });

  const logins = { verifyLogin, requireAttestation: requireAttestation({ policyOf, ...stores, clock }) };
  const common = { ...logins, chains, passkeys, clock, issue, accounts, sessions, signIns, limits };
  const signingIn = {
    ...common,
    identities: signUps,
    challenges,
    requests,
    enroll,
    findSignInKey: findSignInKey(registrations),
    recordKeyUse: recordKeyUse(registrations, logger),
    listPasskeys: listPasskeys(registrations),
    requireLoginToken,
    blockedKeys,
    hasLeft,
    limitPolls: limits.polls,
    limitSignIns: limits.signIns,
    issueEphemeral,
  };
  const removing = { describeAccess: describeAccess(registrations), removeFromList: removeFromDeviceList(devices) };
  const administering = { ...stores, steps, mark: signUps.mark, clock, cancelDeployment: cancelDeployment(accounts) };
  const server = runtime
    .server({ tokenVerifier: runtime.tokenVerifier(tokenState, { acceptEndedRequests: true }), deadlines: DEADLINES })
    .add(SignUpService, signUpHandlers({ ...common, store: signUps, steps }, limits.signUp))
    .add(SignInService, signInHandlers(signingIn))
    .add(
      SessionsService,
      sessionsHandlers({ ...common, issueIdentity, read: readRefreshToken, refreshLimit: limits.refresh }),
    )
    .add(AccessService, accessHandlers({ access, freezes, limits, timeLocks: unfreezeTimeLocks, clock, ...removing }))
    .add(ContactsService, contactsHandlers(stores.contacts))
    .add(AdminService, adminHandlers(stores))
    .add(AuthAdminService, authAdminHandlers({ ...administering, twoPersons: config.twoPersons }))
    .add(TokenStateService, tokenStateHandlers(feed, blockedNow, signal));

  await runtime.serve(server, tokenState);
}

await runService({ name: "auth", start });
