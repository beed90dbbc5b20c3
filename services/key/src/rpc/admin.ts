import { type ActionLog, administrator, comparePage, pageField } from "@countersign/admin-actions";
import type { AdminService } from "@countersign/proto/key/v1/admin.ts";
import { type Handlers, parseRequest } from "@countersign/rpc";
import { type CompareKeysOptions, compareAccountKeys } from "../domain/compare-keys.ts";

export interface AdminOptions extends CompareKeysOptions {
  readonly actions: ActionLog;
  accountsAfter(after: string, limit: number): Promise<string[]>;
}

/** Handles key.v1.Admin. */
export function keyAdminHandlers(options: AdminOptions): Handlers<AdminService> {
  const { actions, accountsAfter } = options;
  const compare = compareAccountKeys(options);
  return {
    async *compareKeys(request, call) {
      const command = "drift";
      const by = administrator(call, command, request);
      const { accountId, afterAccountId, limit } = parseRequest(pageField, request);
      await actions.read(by, { command, accountId, arguments: { afterAccountId, limit } });
      const ids = accountId ? [accountId] : await accountsAfter(afterAccountId, limit);
      yield* comparePage(ids, compare, call.signal);
    },
  };
}
