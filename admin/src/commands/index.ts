import type { Command } from "@countersign/runtime";
import { accountsEndSessions, accountsFreeze, accountsHolds, accountsUnfreeze } from "./accounts.ts";
import { balances, drift } from "./chain.ts";
import { completionOf } from "./completion.ts";
import { consoleCommand } from "./console.ts";
import { find } from "./find.ts";
import { personErase, personExport } from "./person.ts";
import { actionsList, requestsApprove, requestsList, requestsReject } from "./requests.ts";
import { keyAdditionsCancel, keyAdditionsResume, rotationsResume, signUpsCancel, signUpsResume } from "./sagas.ts";
import { auditArchive, auditExport, auditRemove, auditVerify, policyCheck, policyExplain } from "./signer.ts";
import { webhooksList, webhooksReplay, webhooksTest } from "./webhooks.ts";

const administration: readonly Command[] = [
  find,
  consoleCommand,
  accountsFreeze,
  accountsUnfreeze,
  accountsHolds,
  accountsEndSessions,
  signUpsResume,
  signUpsCancel,
  keyAdditionsResume,
  keyAdditionsCancel,
  rotationsResume,
  balances,
  drift,
  policyCheck,
  policyExplain,
  auditVerify,
  auditExport,
  auditArchive,
  auditRemove,
  personExport,
  personErase,
  webhooksList,
  webhooksTest,
  webhooksReplay,
  requestsList,
  requestsApprove,
  requestsReject,
  actionsList,
];

/** Every command of the program. */
export const commands: readonly Command[] = [...administration, completionOf(administration)];
