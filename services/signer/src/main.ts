import { createTokenVerifier, untilCurrent, watchTokenState } from "@countersign/access-tokens";
import { unknownChain, uuidv7 } from "@countersign/core";
import { startOutboxPublisher } from "@countersign/events";
import { createPlainQueries, createPrismaAdapter, listenPostgres } from "@countersign/postgres";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { BudgetsService } from "@countersign/proto/signer/v1/budgets.ts";
import { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { ServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { TimeLocksService } from "@countersign/proto/signer/v1/time_locks.ts";
import { createRpcClient, createRpcServer } from "@countersign/rpc";
import { ConfigError, loadPeers, loadTls, runService } from "@countersign/runtime";
import { createAuditLog } from "./audit/audit-log.ts";
import { certificateText } from "./audit/batch.ts";
import { openCheckpointFile } from "./audit/checkpoint-file.ts";
import { startCheckpointer } from "./audit/checkpointer.ts";
import { startBudgetMetrics } from "./budget/budget-metrics.ts";
import { budgetRulesOf, createCreationReserve, createReserve } from "./budget/reserve.ts";
import { loadConfig } from "./config.ts";
import { bindAddress } from "./domain/bind-address.ts";
import { cancelTimeLock } from "./domain/cancel-time-lock.ts";
import { createDecide } from "./domain/decide.ts";
import { deriveServerKeys } from "./domain/derive-server-keys.ts";
import { explain } from "./domain/explain.ts";
import { getAuditProof } from "./domain/get-audit-proof.ts";
import { getServerKeyRotation } from "./domain/get-server-key-rotation.ts";
import { rotateBinding } from "./domain/rotate-binding.ts";
import { beginSettlement, settleReservations } from "./domain/settle-reservations.ts";
import { signCreation } from "./domain/sign-creation.ts";
import { signPaymaster } from "./domain/sign-paymaster.ts";
import { signTransaction } from "./domain/sign-transaction.ts";
import { signVoid } from "./domain/sign-void.ts";
import { createAuditAlarms } from "./metrics.ts";
import { startReader } from "./parser/start-reader.ts";
import { createBackendCheck } from "./policy/backends.ts";
import { createKnownScripts } from "./policy/script/known-scripts.ts";
import { startPolicies } from "./policy/start-policies.ts";
import { bindAddressRpc } from "./rpc/bind-address.ts";
import { budgetRpcs } from "./rpc/budgets.ts";
import { deriveServerKeysRpc } from "./rpc/derive-server-keys.ts";
import { informationRpcs } from "./rpc/information.ts";
import { serverKeyRpcs } from "./rpc/server-keys.ts";
import { signCreationRpc } from "./rpc/sign-creation.ts";
import { signPaymasterRpc } from "./rpc/sign-paymaster.ts";
import { signStreamRpc } from "./rpc/sign-stream.ts";
import { signTransactionRpc } from "./rpc/sign-transaction.ts";
import { signVoidRpc } from "./rpc/sign-void.ts";
import { timeLockRpcs } from "./rpc/time-locks.ts";
import { PrismaClient } from "./store/generated/client.ts";
import { withPlainQueries } from "./store/plain-prisma.ts";
import { prismaAddedKeys } from "./store/prisma-added-keys.ts";
import { prismaAuditReader } from "./store/prisma-audit-reader.ts";
import { prismaAuditStore, pruneSignatureCounts } from "./store/prisma-audit-store.ts";
import { prismaBindingStore } from "./store/prisma-binding-store.ts";
import { commonBudgetUse, pruneBudgets } from "./store/prisma-budget-usage.ts";
import { prismaCheckpointStore } from "./store/prisma-checkpoint-store.ts";
import { prismaEffectStore } from "./store/prisma-effect-store.ts";
import { pruneEphemeralUses } from "./store/prisma-ephemeral-uses.ts";
import { prismaRecoveryKeys } from "./store/prisma-recovery-keys.ts";
import { prismaRevokedKeys } from "./store/prisma-revoked-keys.ts";
import { prismaSettlementStore } from "./store/prisma-settlement-store.ts";
import { prismaSignedCreations } from "./store/prisma-signed-creations.ts";
import { prismaSignedTemplates, pruneSignedTemplates } from "./store/prisma-signed-templates.ts";
import { prismaTimeLockStore } from "./store/prisma-time-lock-store.ts";
import {
  auditPublicKeys,
  createAuditWriter,
  createKeystoreVault,
  openVaults,
  readKeystore,
  warnOfCoreDumps,
} from "./vault/index.ts";

const PRUNE_MS = 10 * 60_000;
/** Reference blocks are too old after ten minutes of a network, and only after days of a quiet emulator. */
const KEEP_TEMPLATES_MS = 7 * 24 * 3_600_000;
const KEEP_BUDGETS_MS = 24 * 3_600_000;
const AUDIT_KEY = { role: "audit" } as const;

await runService({
  name: "signer",
  logFields: ["policyVersion"],
  async start({ env, logger, metrics, clock, drainMs, onClose, readyCheck }) {
    const config = loadConfig(env);
    const tls = loadTls(config.tls);
    const policies = startPolicies(config.policyFile, { logger, metrics, onClose });
    const reader = await startReader(config.parser, { logger, metrics, onClose });
    const scripts = createKnownScripts({ reader, clock });
    const keystore = createKeystoreVault(readKeystore(config.keystoreFile, config.secrets.keystorePassphrase));
    const { vault, close: closeVaults } = await openVaults(keystore, config.vaultsFile);
    onClose("vaults", closeVaults);
    warnOfCoreDumps(logger);
    for (const { chainName, serverKeyVersion = 1 } of config.chains.values()) {
      // Replicas without the secret could not sign for accounts that others have rotated.
      if (vault.versions("server").includes(serverKeyVersion)) continue;
      throw new ConfigError([
        `CS_NETWORKS_FILE: ${chainName}: the keystore has no server keys of version ${serverKeyVersion}`,
      ]);
    }
    const chain = (name: string) => {
      const policy = config.chains.get(name);
      if (!policy) throw unknownChain(name, config.chains.keys());
      return policy;
    };

    const prisma = new PrismaClient({ adapter: createPrismaAdapter(config.secrets.databaseUrl) });
    onClose("database", () => prisma.$disconnect());
    /** With connections of its own, so that what hangs over one table lets the other be written. */
    const openPlain = (what: string) => {
      const queries = createPlainQueries(config.secrets.databaseUrl, (err) => logger.warn({ err }, "lost Postgres"));
      onClose(what, () => queries.close());
      return withPlainQueries(prisma, queries);
    };
    const bindings = prismaBindingStore(openPlain("binding queries"), () => bindingChanges.connected());
    const bindingChanges = listenPostgres({
      databaseUrl: config.secrets.databaseUrl,
      channel: "binding_changed",
      onNotify: bindings.forget,
      logger,
    });
    onClose("binding-listener", () => bindingChanges.close());
    const peers = loadPeers(config.peersFile);
    const budgetMetrics = startBudgetMetrics({
      metrics,
      logger,
      use: () => commonBudgetUse(prisma, clock.now()),
      rulesOf: budgetRulesOf(policies, peers.backend),
    });
    onClose("budget metrics", () => budgetMetrics.close());
    const alarms = createAuditAlarms(metrics);
    const onAlarm = () => alarms.inc();
    const writerId = uuidv7(clock);
    const audit = createAuditLog({
      store: prismaAuditStore(openPlain("record queries")),
      writer: await createAuditWriter(vault, (publicKey, keyVersion) =>
        certificateText({ writerId, startedAt: clock.now(), keyVersion, publicKey }),
      ),
      onAlarm,
      clock,
      logger,
      signaturesPerMinute: config.signaturesPerMinute,
      onBudgetExceeded: budgetMetrics.onBudgetExceeded,
    });
    const checkpointer = startCheckpointer({
      store: prismaCheckpointStore(prisma),
      signer: {
        version: () => vault.version(AUDIT_KEY),
        sign: (text) => vault.sign(AUDIT_KEY, text),
        keys: await auditPublicKeys(vault),
      },
      ownHead: audit.head,
      ...(config.checkpointFile && { file: openCheckpointFile(config.checkpointFile) }),
      intervalMs: config.checkpointMs,
      onAlarm,
      clock,
      logger,
    });
    onClose("checkpoints", () => checkpointer.close());
    const publisher = startOutboxPublisher({
      databaseUrl: config.secrets.databaseUrl,
      natsUrl: config.natsUrl,
      tls,
      logger,
      metrics,
    });
    onClose("outbox", () => publisher.close());

    const auth = createRpcClient(TokenStateService, {
      address: config.authAddress,
      tls,
      serverName: "auth",
      deadlineMs: 3000,
    });
    onClose("auth client", () => auth.close());
    const tokenState = watchTokenState(auth, { logger, clock });
    onClose("token state", () => tokenState.close());
    const verifier = createTokenVerifier(tokenState, {
      issuer: config.issuer,
      clock,
      refuseFrozen: true,
      staleReason: "SignerNotCurrent",
    });

    const decide = createDecide({ vault, audit, clock, policies });
    const paymasters = new Set([...config.chains.values()].map((each) => each.paymaster.address));
    const timeLocks = prismaTimeLockStore(prisma);
    const signedTemplates = prismaSignedTemplates(prisma);
    const signing = {
      decide,
      bindings,
      vault,
      scripts,
      addedKeys: prismaAddedKeys(prisma),
      recoveryKeys: prismaRecoveryKeys(prisma),
      revokedKeys: prismaRevokedKeys(prisma),
      signedTemplates,
      unfrozenAt: (accountId: string) => tokenState.unfrozenAt(accountId),
      blockedKeys: (accountId: string) => tokenState.blockedKeys(accountId),
      effects: prismaEffectStore(prisma, bindings),
      timeLocks,
      delays: config.delays,
      newId: () => uuidv7(clock),
      clock,
      chain,
      reserve: createReserve(peers.backend, clock),
      checkBackend: createBackendCheck(peers.backend, clock),
    };
    const signedCreations = prismaSignedCreations(prisma);
    const creating = { decide, bindings, signedCreations, clock, chain };
    const settling = {
      store: prismaSettlementStore(prisma),
      now: () => clock.now(),
      chain,
      inclusionFees: (chainName: string) => policies.current().pricesOf(chainName).inclusion,
      onUnderestimated: budgetMetrics.onUnderestimated,
    };
    const transaction = signTransaction(signing);
    const paymaster = signPaymaster({ ...signing, paymasters, passkeys: config.passkeys });

    const server = createRpcServer({
      name: "signer",
      tls,
      peers,
      tokenVerifier: verifier,
      logger,
      metrics,
      deadlineMs: 2000,
      deadlines: { "signer.v1.Budgets/SettleReservations": 10_000 },
    })
      .add(BudgetsService, budgetRpcs(beginSettlement(settling), settleReservations(settling)))
      .add(SigningService, {
        signTransaction: signTransactionRpc(transaction),
        signPaymaster: signPaymasterRpc(paymaster),
        signStream: signStreamRpc({ transaction, paymaster, verifier }),
      })
      .add(CreationService, {
        deriveServerKeys: deriveServerKeysRpc(deriveServerKeys({ vault, chain })),
        signCreation: signCreationRpc(signCreation({ ...creating, vault, reserve: createCreationReserve(clock) })),
        bindAddress: bindAddressRpc(bindAddress(creating)),
      })
      .add(FreezingService, {
        signVoid: signVoidRpc(signVoid({ decide, bindings, signedTemplates, freezes: tokenState, chain })),
      })
      .add(
        TimeLocksService,
        timeLockRpcs(timeLocks, cancelTimeLock({ timeLocks, delays: config.delays, clock }), clock),
      )
      .add(
        ServerKeysService,
        serverKeyRpcs(getServerKeyRotation({ bindings, vault, chain }), rotateBinding({ bindings, clock })),
      )
      .add(
        InformationService,
        informationRpcs(
          vault,
          { get: chain, names: [...config.chains.keys()] },
          explain({ policies, scripts, chains: config.chains }),
          getAuditProof({ audit: prismaAuditReader(prisma) }),
        ),
      );

    const pruning = setInterval(() => {
      const ago = (ms: number) => new Date(clock.now().getTime() - ms);
      Promise.all([
        pruneSignatureCounts(prisma, ago(PRUNE_MS)),
        pruneEphemeralUses(prisma, ago(PRUNE_MS)),
        pruneBudgets(prisma, ago(KEEP_BUDGETS_MS)),
        pruneSignedTemplates(prisma, ago(KEEP_TEMPLATES_MS)),
      ]).catch((err) => logger.warn({ err }, "old counts stay for now"));
    }, PRUNE_MS);
    onClose("pruning", () => clearInterval(pruning));
    readyCheck("database", async () => (await prisma.$queryRaw`SELECT 1`) !== undefined);
    readyCheck("token-state", () => tokenState.current());
    await untilCurrent(tokenState);
    await server.listen(config.listen);
    onClose("rpc", () => server.stop(drainMs));
  },
});
