import { sleepUntil } from "@countersign/core";
import { createAccessApi } from "@countersign/flow";
import { AccountKeysService } from "@countersign/proto/account/v1/account_keys.ts";
import { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { MessagesService } from "@countersign/proto/account/v1/messages.ts";
import { NetworksService } from "@countersign/proto/account/v1/networks.ts";
import { ServerKeysService } from "@countersign/proto/account/v1/server_keys.ts";
import { BudgetsService } from "@countersign/proto/signer/v1/budgets.ts";
import { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import { ServerKeysService as SignerServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createServiceRuntime, runService, type ServiceProcess } from "@countersign/runtime";
import { createFlowChain } from "./chain/flow.ts";
import { createFlowNames } from "./chain/flow-names.ts";
import { budgetSigner, creationSigner, keyAdditionSigner, rotationSigner, voidSigner } from "./clients/signer.ts";
import { loadConfig } from "./config.ts";
import { deployAccount } from "./domain/accounts/deploy-account.ts";
import { getAccount } from "./domain/accounts/get-account.ts";
import { linkParent } from "./domain/accounts/link-parent.ts";
import { createProfiles } from "./domain/accounts/profiles.ts";
import { settleBudgets } from "./domain/budgets/settle-budgets.ts";
import { watchKeys } from "./domain/chain-watch/watch-keys.ts";
import { voidTemplates } from "./domain/freeze/void-templates.ts";
import { prepareKeyAddition } from "./domain/key-additions/prepare-key-addition.ts";
import { reconcileKeyAddition } from "./domain/key-additions/reconcile-key-addition.ts";
import { submitKeyAddition } from "./domain/key-additions/submit-key-addition.ts";
import { verifyKeyAddition } from "./domain/key-additions/verify-key-addition.ts";
import { prepareMessage } from "./domain/messages/prepare-message.ts";
import { listServerKeyRotations } from "./domain/server-keys/list-server-key-rotations.ts";
import { reconcileServerKeyRotation } from "./domain/server-keys/reconcile-server-key-rotation.ts";
import { rotateServerKey } from "./domain/server-keys/rotate-server-key.ts";
import { waitForRotation } from "./domain/server-keys/wait-for-rotation.ts";
import { createUnknownTransactions } from "./domain/unknown-transactions.ts";
import { followChains } from "./jobs/chain-follower.ts";
import { startCreationRunner } from "./jobs/creation-runner.ts";
import { createDeploymentWaiters } from "./jobs/deployment-waiters.ts";
import { reconcileOpenRotations } from "./jobs/reconcile-open-rotations.ts";
import { reportAlerts } from "./jobs/report-alerts.ts";
import { createAlertCounter } from "./metrics.ts";
import { accountKeysHandlers } from "./rpc/account-keys.ts";
import { accountsHandlers } from "./rpc/accounts.ts";
import { keyAdditionsHandlers } from "./rpc/key-additions.ts";
import { limitPerMinute } from "./rpc/limit-per-minute.ts";
import { messagesHandlers } from "./rpc/messages.ts";
import { networksHandlers } from "./rpc/networks.ts";
import { serverKeysHandlers } from "./rpc/server-keys.ts";
import { PrismaClient } from "./store/generated/client.ts";
import { prismaAccountStore } from "./store/prisma-account-store.ts";
import { ensureProposalKeys, prismaCreationStore } from "./store/prisma-creation-store.ts";
import { prismaKeyAdditionStore } from "./store/prisma-key-addition-store.ts";
import { prismaKeyWatchStore } from "./store/prisma-key-watch-store.ts";
import { prismaServerKeyRotationStore } from "./store/prisma-server-key-rotation-store.ts";
import { prismaSettlementStore } from "./store/prisma-settlement-store.ts";
import { rememberAccounts, writingParents } from "./store/remembered-accounts.ts";
import { onAccountFrozen } from "./subscribers/account-frozen.ts";

const SIGNER_MS = 2_000;
const VOID_LOOK_MS = 250;
/** The signer uses an old key this long after its removal, and clients ask again. */
const ROTATIONS_MS = 500;
const ROTATIONS_RETRY_MS = 2_000;

async function start(service: ServiceProcess) {
  const config = loadConfig(service.env);
  const runtime = createServiceRuntime(service, config);
  const { logger, metrics, clock, onClose } = runtime;
  const networks = [...config.networks.values()].map((network) => {
    const access = createAccessApi({ baseUrl: network.accessNode });
    return { chain: createFlowChain(network, access), names: createFlowNames(network, access) };
  });
  const chains = new Map(networks.map(({ chain }) => [chain.chainName, chain]));
  const lookups = new Map(networks.flatMap(({ chain, names }) => (names ? [[chain.chainName, names] as const] : [])));
  const profiles = createProfiles({ lookups, clock });
  const transactionUrl = (chainName: string, id: string) => chains.get(chainName)?.transactionUrl(id) ?? "";

  const prisma = runtime.database(PrismaClient);
  for (const chain of chains.values()) await ensureProposalKeys(prisma, chain.chainName, chain.creator.keyCount);
  const stored = prismaAccountStore(prisma);
  const remembered = rememberAccounts(stored.find, () => changes.connected());
  const changes = runtime.listen("account_changed", remembered.forget);

  const tokenState = runtime.watchTokenState();
  const signer = runtime.client(CreationService, "signer", SIGNER_MS);
  const runner = startCreationRunner({
    store: prismaCreationStore(prisma, {
      transactionUrl,
      firstKeyId: (chainName) => chains.get(chainName)?.creator.firstKeyId,
    }),
    signer: creationSigner(signer),
    chains,
    clock,
    logger,
    parallel: config.parallelCreations,
    collectMs: config.collectMs,
    refusedRetryMs: config.refusedRetryMs,
  });
  onClose("creation-runner", () => runner.close());

  const raised = reportAlerts({ logger, counter: createAlertCounter(metrics) });
  const watched = prismaKeyWatchStore(prisma);
  followChains({
    every: runtime.every,
    job: "key watch",
    chains,
    round: (chain, lease, signal) =>
      watchKeys({ store: watched, chain, lease, actions: config.alertActions, raised }, signal),
    clock,
    pollMs: config.keyWatchMs,
  });

  const budgets = runtime.client(BudgetsService, "signer", 10_000);
  const settled = prismaSettlementStore(prisma);
  followChains({
    every: runtime.every,
    job: "budget settlement",
    chains,
    round: (chain, lease, signal) =>
      settleBudgets({ store: settled, signer: budgetSigner(budgets), chain, lease }, signal),
    clock,
    pollMs: config.settlementMs,
  });

  const waiters = createDeploymentWaiters();
  runtime.listen("deployment", waiters.notify);
  runtime.listen("creation", runner.wake);

  const deploy = deployAccount({
    store: stored,
    clock,
    chainNames: new Set(chains.keys()),
    wakeRunner: runner.wake,
    waitForChange: waiters.wait,
  });
  const signing = runtime.client(SigningService, "signer", SIGNER_MS);
  const unknownTransaction = createUnknownTransactions();
  const keyAdditions = {
    accounts: remembered,
    chains,
    additions: prismaKeyAdditionStore(prisma),
    signer: keyAdditionSigner(signing),
    passkeys: config.passkeys,
    maxUserKeys: config.maxUserKeys,
    clock,
    logger,
  };

  const freezing = runtime.client(FreezingService, "signer", SIGNER_MS);
  const voiding = voidTemplates({
    accounts: remembered,
    chains,
    signer: voidSigner(freezing),
    pause: async (signal) => void (await sleepUntil(VOID_LOOK_MS, [signal])),
  });
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
  const serverKeys = runtime.client(SignerServerKeysService, "signer", SIGNER_MS);
  const rotating = {
    accounts: remembered,
    chains,
    rotations: prismaServerKeyRotationStore(prisma),
    signer: rotationSigner(serverKeys, signing),
    passkeys: config.passkeys,
    clock,
    logger,
  };
  const reconcile = reconcileServerKeyRotation(rotating);
  runtime.every(
    ROTATIONS_MS,
    "server key rotations",
    reconcileOpenRotations({ ...rotating, reconcile }),
    ROTATIONS_RETRY_MS,
  );

  const server = runtime
    .server({
      tokenState,
      deadlines: {
        "account.v1.Accounts/DeployAccount": 25_000,
        "account.v1.Accounts/LinkParent": 8_000,
        "account.v1.KeyAdditions/SubmitKeyAddition": 10_000,
        "account.v1.Messages/PrepareMessage": 8_000,
        "account.v1.ServerKeys/ListServerKeyRotations": 8_000,
        "account.v1.ServerKeys/RotateServerKey": 12_000,
      },
    })
    .add(
      AccountsService,
      accountsHandlers({
        deploy,
        get: getAccount({ store: remembered }),
        link: linkParent({ store: writingParents(stored, remembered), chains, clock }),
        profiles,
        transactionUrl,
      }),
    )
    .add(NetworksService, networksHandlers(config.networks))
    .add(
      MessagesService,
      messagesHandlers(
        prepareMessage({ accounts: remembered, chains }),
        limitPerMinute(config.messagesPerMinute, clock),
        chains,
      ),
    )
    .add(AccountKeysService, accountKeysHandlers({ accounts: remembered, chains, unknownTransaction }))
    .add(
      ServerKeysService,
      serverKeysHandlers(
        listServerKeyRotations({ ...rotating, reconcile }),
        rotateServerKey(rotating),
        waitForRotation(reconcile, logger),
        transactionUrl,
      ),
    )
    .add(
      KeyAdditionsService,
      keyAdditionsHandlers({
        prepare: prepareKeyAddition(keyAdditions),
        submit: submitKeyAddition(keyAdditions),
        reconcile: reconcileKeyAddition(keyAdditions),
        verify: verifyKeyAddition({ ...keyAdditions, unknownTransaction }),
        transactionUrl,
      }),
    );
  await runtime.serve(server, tokenState);
}

await runService({ name: "account", start });
