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
import { deployAccount } from "./domain/deploy-account.ts";
import { getAccount } from "./domain/get-account.ts";
import { linkParent } from "./domain/link-parent.ts";
import { listAccountKeys } from "./domain/list-account-keys.ts";
import { listServerKeyRotations } from "./domain/list-server-key-rotations.ts";
import { prepareKeyAddition } from "./domain/prepare-key-addition.ts";
import { prepareMessage } from "./domain/prepare-message.ts";
import { createProfiles } from "./domain/profiles.ts";
import { reconcileKeyAddition } from "./domain/reconcile-key-addition.ts";
import { rotateServerKey } from "./domain/rotate-server-key.ts";
import { settleBudgets } from "./domain/settle-budgets.ts";
import { settleServerKeyRotation } from "./domain/settle-server-key-rotation.ts";
import { submitKeyAddition } from "./domain/submit-key-addition.ts";
import { createUnknownTransactions } from "./domain/unknown-transactions.ts";
import { verifyKeyAddition } from "./domain/verify-key-addition.ts";
import { verifyKeyRevocation } from "./domain/verify-key-revocation.ts";
import { voidTemplates } from "./domain/void-templates.ts";
import { waitForRotation } from "./domain/wait-for-rotation.ts";
import { watchKeys } from "./domain/watch-keys.ts";
import { followChains } from "./jobs/chain-follower.ts";
import { startCreationRunner } from "./jobs/creation-runner.ts";
import { createDeploymentWaiters } from "./jobs/deployment-waiters.ts";
import { settleOpenRotations } from "./jobs/settle-open-rotations.ts";
import { tellAlerts } from "./jobs/tell-alerts.ts";
import { createAlertCounter } from "./metrics.ts";
import { listAccountKeysRpc, verifyKeyRevocationRpc } from "./rpc/account-keys.ts";
import { deployAccountRpc } from "./rpc/deploy-account.ts";
import { getAccountRpc } from "./rpc/get-account.ts";
import { getMeRpc } from "./rpc/get-me.ts";
import { limitPerMinute } from "./rpc/limit-per-minute.ts";
import { linkParentRpc } from "./rpc/link-parent.ts";
import { networkRpcs } from "./rpc/networks.ts";
import { prepareKeyAdditionRpc } from "./rpc/prepare-key-addition.ts";
import { messageRpcs } from "./rpc/prepare-message.ts";
import { reconcileKeyAdditionRpc } from "./rpc/reconcile-key-addition.ts";
import { serverKeyRpcs } from "./rpc/server-keys.ts";
import { submitKeyAdditionRpc } from "./rpc/submit-key-addition.ts";
import { verifyKeyAdditionRpc } from "./rpc/verify-key-addition.ts";
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

  const raised = tellAlerts({ logger, counter: createAlertCounter(metrics) });
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

  const get = getAccount({ store: remembered });
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
  const settle = settleServerKeyRotation(rotating);
  runtime.every(ROTATIONS_MS, "server key rotations", settleOpenRotations({ ...rotating, settle }), ROTATIONS_RETRY_MS);

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
    .add(AccountsService, {
      deployAccount: deployAccountRpc(deploy, transactionUrl),
      getAccount: getAccountRpc(get, transactionUrl, profiles),
      getMe: getMeRpc(get, profiles),
      linkParent: linkParentRpc(linkParent({ store: writingParents(stored, remembered), chains, clock }), profiles),
    })
    .add(NetworksService, networkRpcs(config.networks))
    .add(
      MessagesService,
      messageRpcs(
        prepareMessage({ accounts: remembered, chains }),
        limitPerMinute(config.messagesPerMinute, clock),
        chains,
      ),
    )
    .add(AccountKeysService, {
      listAccountKeys: listAccountKeysRpc(listAccountKeys({ accounts: remembered, chains })),
      verifyKeyRevocation: verifyKeyRevocationRpc(
        verifyKeyRevocation({ accounts: remembered, chains, unknownTransaction }),
      ),
    })
    .add(
      ServerKeysService,
      serverKeyRpcs(
        listServerKeyRotations({ ...rotating, settle }),
        rotateServerKey(rotating),
        waitForRotation(settle, logger),
        transactionUrl,
      ),
    )
    .add(KeyAdditionsService, {
      prepareKeyAddition: prepareKeyAdditionRpc(prepareKeyAddition(keyAdditions)),
      submitKeyAddition: submitKeyAdditionRpc(submitKeyAddition(keyAdditions), transactionUrl),
      reconcileKeyAddition: reconcileKeyAdditionRpc(reconcileKeyAddition(keyAdditions), transactionUrl),
      verifyKeyAddition: verifyKeyAdditionRpc(
        verifyKeyAddition({ ...keyAdditions, unknownTransaction }),
        transactionUrl,
      ),
    });
  await runtime.serve(server, tokenState);
}

await runService({ name: "account", start });
