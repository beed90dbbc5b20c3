import { createBlockedKeys } from "@countersign/access-tokens";
import { adminHandlers } from "@countersign/admin-actions";
import { asOutsidePort, asPort, chainNamed, uuidv7 } from "@countersign/core";
import { AdminService } from "@countersign/proto/admin/v1/admin.ts";
import { TokenStateService } from "@countersign/proto/auth/v1/token_state.ts";
import { AdminService as SignerAdminService } from "@countersign/proto/signer/v1/admin.ts";
import { BudgetsService } from "@countersign/proto/signer/v1/budgets.ts";
import { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { FreezingService } from "@countersign/proto/signer/v1/freezing.ts";
import { InformationService } from "@countersign/proto/signer/v1/information.ts";
import { ServerKeysService } from "@countersign/proto/signer/v1/server_keys.ts";
import { SigningService } from "@countersign/proto/signer/v1/signing.ts";
import { TimeLocksService } from "@countersign/proto/signer/v1/time_locks.ts";
import { UserMessagesService } from "@countersign/proto/signer/v1/user_messages.ts";
import { createServiceRuntime, readJsonFile, type ServiceProcess } from "@countersign/runtime";
import type { AuditStore } from "./audit/audit-store.ts";
import { auditSigner, startAudit } from "./audit/start-audit.ts";
import { startBudgetMetrics } from "./budget/budget-metrics.ts";
import { budgetRulesOf, createReservationFor, createReservationForCreation } from "./budget/reservation.ts";
import { loadConfig } from "./config.ts";
import { createCommands } from "./domain/commands.ts";
import { followNetworks } from "./follow-networks.ts";
import { startReader } from "./parser/start-reader.ts";
import { type Backends, backendsFile, createBackendCheck } from "./policy/backends.ts";
import { createKnownScripts } from "./policy/script/known-scripts.ts";
import { startPolicies } from "./policy/start-policies.ts";
import { signerAdminHandlers } from "./rpc/admin.ts";
import { budgetsHandlers } from "./rpc/budgets.ts";
import { creationHandlers } from "./rpc/creation.ts";
import { freezingHandlers } from "./rpc/freezing.ts";
import { informationHandlers } from "./rpc/information.ts";
import { serverKeysHandlers } from "./rpc/server-keys.ts";
import { signingHandlers } from "./rpc/signing.ts";
import { timeLocksHandlers } from "./rpc/time-locks.ts";
import { userMessagesHandlers } from "./rpc/user-messages.ts";
import { openStores } from "./store/open-stores.ts";
import { startVault } from "./vault/index.ts";

/** Milliseconds, of the 2 s that a request has. */
const ASK_AUTH_MS = 1_000;

/**
 * Constructs the signer in this process. `wrapAuditStore` is for the benchmark, which measures what records
 * cost; no setting leads to it.
 */
export async function startSigner(
  service: ServiceProcess,
  wrapAuditStore: (store: AuditStore) => AuditStore = (store) => store,
): Promise<void> {
  const config = loadConfig(service.env, service.files);
  const runtime = createServiceRuntime(service, config);
  const { logger, metrics, clock, files, onClose } = runtime;
  const { passkeys, timeLockPolicy } = config;
  const { chains, paymasters } = followNetworks(config.networks);
  const backends = files.watch("backends", (read) => readJsonFile(config.peersFile, backendsFile, read));
  const backendOf: Backends = (caller) => backends.current()(caller);
  const policies = startPolicies(config.policyFile, runtime);
  const reader = await startReader(config.parser, runtime);
  const runningVault = await startVault(config, runtime);
  const { vault } = runningVault;
  const signer = auditSigner(runningVault);
  const { administration, auditRecords, budgetUse, checkpoints, ...stores } = await openStores(runtime, chains);
  const rulesOf = budgetRulesOf(policies, backendOf);
  const budgetMetrics = startBudgetMetrics({ metrics, logger, use: budgetUse, rulesOf });
  onClose("budget metrics", () => budgetMetrics.close());
  const { onBudgetExceeded, onUnderestimated } = budgetMetrics;
  const records = wrapAuditStore(auditRecords);
  const audit = await startAudit({ vault, signer, records, checkpoints, settings: config, onBudgetExceeded }, runtime);
  const auth = runtime.client(TokenStateService, "auth", ASK_AUTH_MS);
  const tokenState = runtime.watchTokenState(auth);
  const tokenVerifier = runtime.tokenVerifier(tokenState, { refuseFrozen: true, staleReason: "SignerNotCurrent" });

  const commands = createCommands({
    ...stores,
    vault: asOutsidePort("vault", vault, { publicKey: false, version: false, versions: false }),
    audit: asPort("audit", audit, {
      append: ({ verdict }) => verdict,
      head: false,
      noteRefusal: false,
      requireWithinLimit: false,
    }),
    policies,
    clock,
    chains,
    chain: (name) => chainNamed(chains, name),
    paymasters,
    passkeys,
    timeLockPolicy,
    scripts: createKnownScripts({ reader, clock }),
    newId: () => uuidv7(clock),
    checkBackend: createBackendCheck(backendOf, clock),
    reservationFor: createReservationFor(backendOf, clock),
    reservationForCreation: createReservationForCreation(clock),
    freezes: tokenState,
    unfrozenAt: (accountId) => tokenState.unfrozenAt(accountId),
    blockedKeys: createBlockedKeys(auth, tokenState),
    onUnderestimated,
  });
  const { explain } = commands;
  const { archiveMinDays, twoPersons } = config;
  const archiving = { auditSigner: signer, archiveMinDays, twoPersons, clock };
  const administering = { ...administration, ...archiving, policies, explain };
  const server = runtime
    .server({ tokenVerifier, deadlineMs: 2_000, deadlines: { "signer.v1.Budgets/SettleReservations": 10_000 } })
    .add(AdminService, adminHandlers(administration))
    .add(SignerAdminService, signerAdminHandlers(administering))
    .add(BudgetsService, budgetsHandlers(commands))
    .add(CreationService, creationHandlers(commands))
    .add(FreezingService, freezingHandlers(commands))
    .add(InformationService, informationHandlers(commands))
    .add(ServerKeysService, serverKeysHandlers(commands))
    .add(SigningService, signingHandlers(commands, { metrics, logger }))
    .add(TimeLocksService, timeLocksHandlers(commands))
    .add(UserMessagesService, userMessagesHandlers(commands));
  await runtime.serve(server, tokenState);
}
