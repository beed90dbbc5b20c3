import { createTokenVerifier, untilCurrent, watchTokenState } from "@countersign/access-tokens";
import { sleepUntil } from "@countersign/core";
import { startConsumer, startOutboxPublisher } from "@countersign/events";
import { createAccessApi } from "@countersign/flow";
import { createPrismaAdapter, listenPostgres } from "@countersign/postgres";
import { AccountKeysService } from "@countersign/proto/account/v1/account_keys.ts";
import { AccountsService } from "@countersign/proto/account/v1/accounts.ts";
import { KeyAdditionsService } from "@countersign/proto/account/v1/key_additions.ts";
import { MessagesService } from "@countersign/proto/account/v1/messages.ts";
import { NetworksService } from "@countersign/proto/account/v1/networks.ts";
import { ServerKeysService } from "@countersign/proto/account/v1/server_keys.ts";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { BudgetsService } from "@countersign/proto/signer/v1/budgets.ts";
import { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import { ServerKeysService as SignerServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { createRpcClient, createRpcServer } from "@countersign/rpc";
import { loadPeers, loadTls, runService, type ServiceProcess } from "@countersign/runtime";
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
import { startRotationSettler } from "./jobs/rotation-settler.ts";
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

const VOID_LOOK_MS = 250;

async function start({ name, env, logger, metrics, clock, drainMs, onClose, readyCheck }: ServiceProcess) {
  const config = loadConfig(env);
  const { databaseUrl } = config.secrets;
  const tls = loadTls(config.tls);
  const networks = [...config.networks.values()].map((network) => {
    const access = createAccessApi({ baseUrl: network.accessNode });
    return { chain: createFlowChain(network, access), names: createFlowNames(network, access) };
  });
  const chains = new Map(networks.map(({ chain }) => [chain.chainName, chain]));
  const lookups = new Map(networks.flatMap(({ chain, names }) => (names ? [[chain.chainName, names] as const] : [])));
  const profiles = createProfiles({ lookups, clock });
  const transactionUrl = (chainName: string, id: string) => chains.get(chainName)?.transactionUrl(id) ?? "";

  const prisma = new PrismaClient({ adapter: createPrismaAdapter(databaseUrl) });
  onClose("database", () => prisma.$disconnect());
  readyCheck("database", async () => (await prisma.$queryRaw`SELECT 1`) !== undefined);
  for (const chain of chains.values()) await ensureProposalKeys(prisma, chain.chainName, chain.creator.keyCount);
  const stored = prismaAccountStore(prisma);
  const remembered = rememberAccounts(stored.find, () => changes.connected());
  const changes = listenPostgres({ databaseUrl, channel: "account_changed", onNotify: remembered.forget, logger });
  onClose("account-listener", () => changes.close());

  const outbox = startOutboxPublisher({ databaseUrl, natsUrl: config.natsUrl, tls, logger, metrics });
  onClose("outbox", () => outbox.close());

  const auth = createRpcClient(TokenStateService, {
    address: config.authAddress,
    tls,
    serverName: "auth",
    deadlineMs: 3000,
    metrics,
  });
  onClose("auth", () => auth.close());
  const tokenState = watchTokenState(auth, { logger, clock });
  onClose("token-state", () => tokenState.close());
  readyCheck("token-state", () => tokenState.current());

  /** Of one of the signer's services, and closed with this one. */
  const clientOfSigner = <S extends Parameters<typeof createRpcClient>[0]>(
    called: string,
    service: S,
    deadlineMs = 2000,
  ) => {
    const { signerAddress: address } = config;
    const client = createRpcClient(service, { address, tls, serverName: "signer", deadlineMs, metrics });
    onClose(called, () => client.close());
    return client;
  };
  const signer = clientOfSigner("signer", CreationService);
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
  const watcher = followChains({
    component: "key-watcher",
    chains,
    round: (chain, lease, signal) =>
      watchKeys({ store: watched, chain, lease, actions: config.alertActions, raised }, signal),
    clock,
    logger,
    pollMs: config.keyWatchMs,
  });
  onClose("key-watcher", () => watcher.close());

  const budgets = clientOfSigner("budgets", BudgetsService, 10_000);
  const settled = prismaSettlementStore(prisma);
  const settler = followChains({
    component: "budget-settler",
    chains,
    round: (chain, lease, signal) =>
      settleBudgets({ store: settled, signer: budgetSigner(budgets), chain, lease }, signal),
    clock,
    logger,
    pollMs: config.settlementMs,
  });
  onClose("budget-settler", () => settler.close());

  const waiters = createDeploymentWaiters();
  const deployments = listenPostgres({ databaseUrl, channel: "deployment", onNotify: waiters.notify, logger });
  onClose("deployment-listener", () => deployments.close());
  const creations = listenPostgres({ databaseUrl, channel: "creation", onNotify: runner.wake, logger });
  onClose("creation-listener", () => creations.close());

  const get = getAccount({ store: remembered });
  const deploy = deployAccount({
    store: stored,
    clock,
    chainNames: new Set(chains.keys()),
    wakeRunner: runner.wake,
    waitForChange: waiters.wait,
  });
  const signing = clientOfSigner("signing", SigningService);
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

  const freezing = clientOfSigner("freezing", FreezingService);
  const stopping = new AbortController();
  const voiding = voidTemplates({
    accounts: remembered,
    chains,
    signer: voidSigner(freezing),
    pause: async (signal) => void (await sleepUntil(VOID_LOOK_MS, [signal])),
  });
  const freezes = startConsumer({
    natsUrl: config.natsUrl,
    tls,
    logger,
    durable: "account-account-frozen",
    // Each of them waits most of its time.
    concurrency: 100,
    handler: onAccountFrozen({
      voidTemplates: (accountId) => voiding(accountId, stopping.signal),
      clock,
      pause: (ms) => sleepUntil(ms, [stopping.signal]),
    }),
  });
  onClose("account-frozen", async () => {
    stopping.abort();
    await freezes.close();
  });
  const serverKeys = clientOfSigner("server-keys", SignerServerKeysService);
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
  const rotationSettler = startRotationSettler({ ...rotating, settle });
  onClose("rotation-settler", () => rotationSettler.close());

  const server = createRpcServer({
    name,
    tls,
    peers: loadPeers(config.peersFile),
    tokenVerifier: createTokenVerifier(tokenState, { issuer: config.issuer, clock }),
    logger,
    metrics,
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
  onClose("rpc", () => server.stop(drainMs));
  await untilCurrent(tokenState);
  await server.listen(config.listen);
}

await runService({ name: "account", start });
