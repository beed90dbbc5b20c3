import { type AccountsAfter, type ActionLog, driftHandler } from "@countersign/admin-actions";
import type { AdminService } from "@countersign/proto/key/v1/admin.ts";
import type { Handlers } from "@countersign/rpc";
import { type CompareKeysOptions, compareAccountKeys } from "../domain/compare-keys.ts";

export interface AdminOptions extends CompareKeysOptions {
  readonly actions: ActionLog;
  readonly accountsAfter: AccountsAfter;
}

/** Handles key.v1.Admin. */
export const keyAdminHandlers = (options: AdminOptions): Handlers<AdminService> => ({
  compareKeys: driftHandler(options.actions, options.accountsAfter, compareAccountKeys(options)),
});
