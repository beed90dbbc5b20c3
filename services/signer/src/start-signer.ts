import { createTokenVerifier, untilCurrent, watchTokenState } from "@countersign/access-tokens";
import { uuidv7 } from "@countersign/core";
import { startOutboxPublisher } from "@countersign/events";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { BudgetsService } from "@countersign/proto/signer/v1/budgets.ts";
import { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { ServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { TimeLocksService } from "@countersign/proto/signer/v1/time_locks.ts";
import { createRpcClient, createRpcServer } from "@countersign/rpc";
import { loadPeers, loadTls, type ServiceProcess } from "@countersign/runtime";
import type { AuditStore } from "./audit/audit-store.ts";
import { startAudit } from "./audit/start-audit.ts";
import { startBudgetMetrics } from "./budget/budget-metrics.ts";
import { budgetRulesOf, createReservationFor, createReservationForCreation } from "./budget/reservation.ts";
import { loadConfig } from "./config.ts";
import { createCommands } from "./domain/commands.ts";
import { startReader } from "./parser/start-reader.ts";
import { createBackendCheck } from "./policy/backends.ts";
import { chainFinder } from "./policy/chain.ts";
import { createKnownScripts } from "./policy/script/known-scripts.ts";
import { startPolicies } from "./policy/start-policies.ts";
import { budgetRpcs } from "./rpc/budgets.ts";
import { creationRpcs } from "./rpc/creation.ts";
import { freezingRpcs } from "./rpc/freezing.ts";
import { informationRpcs } from "./rpc/information.ts";
import { serverKeyRpcs } from "./rpc/server-keys.ts";
import { signingRpcs } from "./rpc/signing.ts";
import { timeLockRpcs } from "./rpc/time-locks.ts";
import { openStores } from "./store/open-stores.ts";
import { startVault } from "./vault/index.ts";

/**
 * Constructs the signer in this process. `wrapAuditStore` is for the benchmark, which measures what records
 * cost; no setting leads to it.
 */
export async function startSigner(
  process: ServiceProcess,
  wrapAuditStore: (store: AuditStore) => AuditStore = (store) => store,
): Promise<void> {
  const { logger, metrics, clock, drainMs, onClose, readyCheck } = process;
  const config = loadConfig(process.env);
  const { issuer, chains, passkeys, delays } = config;
  const tls = loadTls(config.tls);
  const peers = loadPeers(config.peersFile);
  const policies = startPolicies(config.policyFile, process);
  const reader = await startReader(config.parser, process);
  const vault = await startVault(config, process);
  const { databaseUrl } = config.secrets;
  const { auditRecords, budgetUse, ...stores } = openStores(databaseUrl, process);
  const rulesOf = budgetRulesOf(policies, peers.backend);
  const budgetMetrics = startBudgetMetrics({ metrics, logger, use: budgetUse, rulesOf });
  onClose("budget metrics", () => budgetMetrics.close());
  const { checkpoints } = stores;
  const { onBudgetExceeded, onUnderestimated } = budgetMetrics;
  const auditOptions = {
    vault,
    records: wrapAuditStore(auditRecords),
    checkpoints,
    settings: config,
    onBudgetExceeded,
  };
  const audit = await startAudit(auditOptions, process);
  const publisher = startOutboxPublisher({ databaseUrl, natsUrl: config.natsUrl, tls, logger, metrics });
  onClose("outbox", () => publisher.close());

  const authClient = { address: config.authAddress, tls, serverName: "auth", deadlineMs: 3000 };
  const auth = createRpcClient(TokenStateService, authClient);
  onClose("auth client", () => auth.close());
  const tokenState = watchTokenState(auth, { logger, clock });
  onClose("token state", () => tokenState.close());
  readyCheck("token-state", () => tokenState.current());
  const staleReason = "SignerNotCurrent";
  const tokenVerifier = createTokenVerifier(tokenState, { issuer, clock, refuseFrozen: true, staleReason });

  const commands = createCommands({
    ...stores,
    vault,
    audit,
    policies,
    clock,
    chains,
    chain: chainFinder(chains),
    paymasters: new Set([...chains.values()].map(({ paymaster }) => paymaster.address)),
    passkeys,
    delays,
    scripts: createKnownScripts({ reader, clock }),
    newId: () => uuidv7(clock),
    checkBackend: createBackendCheck(peers.backend, clock),
    reservationFor: createReservationFor(peers.backend, clock),
    reservationForCreation: createReservationForCreation(clock),
    freezes: tokenState,
    unfrozenAt: (accountId) => tokenState.unfrozenAt(accountId),
    blockedKeys: (accountId) => tokenState.blockedKeys(accountId),
    onUnderestimated,
  });
  const deadlines = { "signer.v1.Budgets/SettleReservations": 10_000 };
  const serverOptions = { name: "signer", tls, peers, tokenVerifier, logger, metrics, deadlineMs: 2000, deadlines };
  const server = createRpcServer(serverOptions)
    .add(BudgetsService, budgetRpcs(commands))
    .add(CreationService, creationRpcs(commands))
    .add(FreezingService, freezingRpcs(commands))
    .add(InformationService, informationRpcs(commands))
    .add(ServerKeysService, serverKeyRpcs(commands))
    .add(SigningService, signingRpcs(commands, tokenVerifier))
    .add(TimeLocksService, timeLockRpcs(commands));

  await untilCurrent(tokenState);
  await server.listen(config.listen);
  onClose("rpc", () => server.stop(drainMs));
}
