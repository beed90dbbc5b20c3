import { AccountsService, type GetAccountResponse } from "@countersign/proto/account/v1/accounts.ts";
import type { RpcServer } from "../server.ts";

const service = { callers: ["gateway"], token: "service" as const };
const NAMES = ["DeployAccount", "GetAccount", "GetMe", "LinkParent", "CancelDeployment"];

/** The caller table of a server that `offerAccounts` prepares, called by the gateway. */
export const accountRpcs = Object.fromEntries(NAMES.map((name) => [`account.v1.Accounts/${name}`, service]));
/** The row for clients that send calls over a shared stream. */
export const callsRpc = { "rpc.v1.Calls/Stream": service };

/** Adds account.v1.Accounts, of which only GetAccount is called. */
export function offerAccounts(
  server: RpcServer,
  getAccount: (request: { accountId: string }) => Promise<GetAccountResponse>,
): void {
  const unused = (async () => undefined) as never;
  const others = { deployAccount: unused, cancelDeployment: unused, getMe: unused, linkParent: unused };
  server.add(AccountsService, { ...others, getAccount });
}
