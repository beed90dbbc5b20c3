import {
  type AccountsAfter,
  type ActionLog,
  accountField,
  administrator,
  driftHandler,
} from "@countersign/admin-actions";
import { AppError } from "@countersign/core";
import type { AdminService } from "@countersign/proto/account/v1/admin.ts";
import { type Handlers, parseRequest, uuidField } from "@countersign/rpc";
import { z } from "zod";
import type { AccountKeysChain } from "../domain/accounts/list-account-keys.ts";
import { type CompareAccountOptions, compareAccount } from "../domain/admin/compare-account.ts";
import { listBalances } from "../domain/admin/list-balances.ts";
import type { ObservedChain } from "../domain/ports.ts";
import type { reconcileServerKeyRotation } from "../domain/server-keys/reconcile-server-key-rotation.ts";
import type { ServerKeyRotationStore } from "../domain/server-keys/server-key-rotation.ts";
import { fromChain } from "./conversions.ts";

export interface AdminOptions extends CompareAccountOptions {
  readonly actions: ActionLog;
  readonly chains: ReadonlyMap<string, AccountKeysChain & ObservedChain>;
  readonly rotations: Pick<ServerKeyRotationStore, "newest">;
  readonly reconcile: ReturnType<typeof reconcileServerKeyRotation>;
  readonly accountsAfter: AccountsAfter;
}

const ofChain = z.object({ accountId: uuidField, chainName: z.string().min(1).max(64) });

/** Handles account.v1.Admin. */
export function accountAdminHandlers(options: AdminOptions): Handlers<AdminService> {
  const { actions, rotations, reconcile } = options;
  const balances = listBalances(options);
  return {
    async listBalances(request, call) {
      const by = administrator(call, "balances", request);
      const { accountId } = parseRequest(z.object({ accountId: accountField }), request);
      await actions.read(by, { command: "balances", accountId });
      return { balances: await fromChain(balances(accountId, call.signal)) };
    },

    async resumeRotation(request, call) {
      const command = "rotations resume";
      const by = administrator(call, command, request);
      const { accountId, chainName } = parseRequest(ofChain, request);
      const newest = await rotations.newest(accountId, chainName);
      if (!newest) throw new AppError("RotationNotFound");
      const actionId = await actions.begin(by, { command, accountId, arguments: { chainName } });
      return { actionId, state: await fromChain(reconcile(newest, call.signal)) };
    },

    compareAccounts: driftHandler(actions, options.accountsAfter, compareAccount(options)),
  };
}
