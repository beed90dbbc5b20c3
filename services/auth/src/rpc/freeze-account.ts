import type { AccessService } from "@countersign/proto/auth/v1/access.ts";
import { type Handler, requireToken } from "@countersign/rpc";
import type { freezeAccount, unfreezeAccount } from "../domain/freeze/freeze-account.ts";

/** auth.v1.Access/FreezeAccount */
export const freezeAccountRpc =
  (command: ReturnType<typeof freezeAccount>): Handler<AccessService["freezeAccount"]> =>
  async (_, call) => {
    await command(requireToken(call), call.requestId);
    return {};
  };

/** auth.v1.Access/UnfreezeAccount */
export const unfreezeAccountRpc =
  (command: ReturnType<typeof unfreezeAccount>): Handler<AccessService["unfreezeAccount"]> =>
  async (_, call) => {
    await command(requireToken(call), call.requestId);
    return {};
  };
