import type { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import type { Handler } from "@countersign/rpc";
import type { signCreation } from "../domain/sign-creation.ts";
import { requireAccountIds } from "./account-ids.ts";
import { toSigned } from "./messages.ts";

/** signer.v1.Creation/SignCreation */
export const signCreationRpc =
  (command: ReturnType<typeof signCreation>): Handler<CreationService["signCreation"]> =>
  async ({ chainName, message, accountIds }, call) => {
    requireAccountIds(accountIds, "/accountIds");
    return toSigned(await command({ chainName, message, accountIds, caller: call.caller }));
  };
