import { adminHandlers, onPersonErased } from "@countersign/admin-actions";
import { asOperation, limitIdOf, limitPerMinute, sleepUntil, type VerifiedToken } from "@countersign/core";
import { AccountKeysService } from "@countersign/proto/account/v1/account_keys.ts";
import { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { AdminService as AccountAdminService } from "@countersign/proto/account/v1/admin.ts";
import { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { MessagesService } from "@countersign/proto/account/v1/messages.ts";
import { NetworksService } from "@countersign/proto/account/v1/networks.ts";
import { ServerKeysService } from "@countersign/proto/account/v1/server_keys.ts";
import { AdminService } from "@countersign/proto/admin/v1/admin.ts";
import { createServiceRuntime, runService, type ServiceProcess } from "@countersign/runtime";
import { chainNamesOf } from "@countersign/settings";
import { openChains } from "./chain/open-chains.ts";
import { openSigner } from "./clients/open-signer.ts";
import { loadConfig } from "./config.ts";
import { cancelDeployment } from "./domain/accounts/cancel-deployment.ts";
import { deployAccount } from "./domain/accounts/deploy-account.ts";
import { linkParent } from "./domain/accounts/link-parent.ts";
import type { Creation } from "./domain/creations/creation.ts";
import { voidTemplates } from "./domain/freeze/void-templates.ts";
import { prepareMessage } from "./domain/messages/prepare-message.ts";
import { reconcileServerKeyRotation } from "./domain/server-keys/reconcile-server-key-rotation.ts";
import { startCreationRunner } from "./jobs/creation-runner.ts";
import { createDeploymentWaiters } from "./jobs/deployment-waiters.ts";
import { startChainJobs } from "./jobs/start-chain-jobs.ts";
import { withCreationSeconds } from "./metrics.ts";
import { accountKeysHandlers } from "./rpc/account-keys.ts";
import { accountsHandlers } from "./rpc/accounts.ts";
import { accountAdminHandlers } from "./rpc/admin.ts";
import { keyAdditionsHandlers } from "./rpc/key-additions.ts";
import { messagesHandlers } from "./rpc/messages.ts";
import { networksHandlers } from "./rpc/networks.ts";
import { serverKeysHandlers } from "./rpc/server-keys.ts";
import { rememberFirstAsked } from "./store/first-asked.ts";
import { openStores } from "./store/open-stores.ts";
import { writingParents } from "./store/remembered-accounts.ts";
import { onAccountFrozen } from "./subscribers/account-frozen.ts";

const VOID_LOOK_MS = 250;
/** Milliseconds: they wait for the chain. */
const DEADLINES = {
  "account.v1.Admin/ListBalances": 10_000,
  "account.v1.Admin/ResumeRotation": 10_000,
  "account.v1.AccountKeys/ListAccountKeys": 8_000,
  "account.v1.AccountKeys/VerifyKeyRevocation": 8_000,
  "account.v1.Accounts/DeployAccount": 25_000,
  "account.v1.Accounts/LinkParent": 8_000,
  "account.v1.KeyAdditions/ReconcileKeyAddition": 8_000,
  "account.v1.KeyAdditions/SubmitKeyAddition": 10_000,
  "account.v1.KeyAdditions/VerifyKeyAddition": 8_000,
  "account.v1.Messages/PrepareMessage": 8_000,
  "account.v1.ServerKeys/ListServerKeyRotations": 8_000,
  "account.v1.ServerKeys/RotateServerKey": 12_000,
};

async function start(service: ServiceProcess) {
  const config = loadConfig(service.env, service.files);
  const runtime = createServiceRuntime(service, config);
  const { logger, clock, metrics, onClose } = runtime;
  const { passkeys, maxUserKeys, parallelCreations: parallel, collectMs, refusedRetryMs } = config;

  const { chains, onAdded, profiles, transactionUrl } = openChains(config.networks, clock);
  const stores = await openStores(runtime, chains, transactionUrl);
  const { stored, remembered: accounts, creations, additions, keyWatch, readings, rotations, settlements } = stores;
  const tokenState = runtime.watchTokenState();
  const signer = openSigner(runtime);

  const waiters = createDeploymentWaiters({ findEnded: stored.findEnded, logger });
  const onEnd = ({ chainName, accountIds }: Creation) => {
    for (const accountId of accountIds) waiters.wake({ accountId, chainName });
  };
  const timed = withCreationSeconds(creations, metrics, clock);
  const creating = { store: timed, signer: signer.creation, onEnd, parallel, collectMs, refusedRetryMs };
  const runner = startCreationRunner({ ...creating, chains, clock, logger });
  onClose("creation-runner", () => runner.close());

  const pause = async (signal: AbortSignal) => void (await sleepUntil(VOID_LOOK_MS, [signal]));
  const voiding = asOperation("voiding", voidTemplates({ accounts, chains, signer: signer.voids, pause }));
  runtime.consume({
    durable: "account-account-frozen",
    // Each of them waits most of its time.
    concurrency: 100,
    handler: onAccountFrozen({
      voidTemplates: (accountId) => voiding(accountId, runtime.signal),
      clock,
      pause: (ms) => sleepUntil(ms, [runtime.signal]),
    }),
  });
  runtime.consume({ durable: "account-person-erased", handler: onPersonErased(stores.erasePerson) });
  const rotating = { accounts, chains, rotations, signer: signer.rotation, passkeys, clock, logger };
  const reconcile = reconcileServerKeyRotation(rotating);
  const following = { keyWatch, readings, settlements, budgetSigner: signer.budgets };
  startChainJobs(runtime, config, { ...rotating, onAdded, reconcile, ...following });

  const { wake: wakeRunner } = runner;
  const chainNames = chainNamesOf(config.networks);
  const deploy = deployAccount({ store: stored, clock, chainNames, wakeRunner, waitForEnd: waiters.wait });
  const cancel = cancelDeployment({ store: stored, clock });
  const link = linkParent({ store: writingParents(stored, accounts), chains, clock });
  const firstAskedAt = rememberFirstAsked();
  const adding = { accounts, chains, additions, signer: signer.keyAdditions, passkeys, maxUserKeys, clock, logger };
  const limit = limitPerMinute(clock);
  const readsChain = (by: VerifiedToken) => limit(limitIdOf(by), config.messagesPerMinute);
  const server = runtime
    .server({ tokenVerifier: runtime.tokenVerifier(tokenState), deadlines: DEADLINES })
    .add(AccountsService, accountsHandlers({ accounts, deploy, cancel, link, profiles, readsChain, transactionUrl }))
    .add(AdminService, adminHandlers(stores.administration))
    .add(AccountAdminService, accountAdminHandlers({ ...rotating, ...stores.administration, reconcile }))
    .add(NetworksService, networksHandlers(config.networks))
    .add(MessagesService, messagesHandlers(prepareMessage({ accounts, chains }), readsChain, chains))
    .add(AccountKeysService, accountKeysHandlers({ accounts, chains, firstAskedAt }))
    .add(ServerKeysService, serverKeysHandlers({ ...rotating, reconcile, readsChain, transactionUrl }))
    .add(KeyAdditionsService, keyAdditionsHandlers({ ...adding, firstAskedAt, transactionUrl }));
  await runtime.serve(server, tokenState);
}

await runService({ name: "account", start });
