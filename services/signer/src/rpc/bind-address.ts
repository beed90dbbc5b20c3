import { AppError } from "@countersign/core";
import { KEY_ROLES } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import type { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import type { Handler } from "@countersign/rpc";
import type { bindAddress } from "../domain/bind-address.ts";
import { requireAccountIds } from "./account-ids.ts";

/** signer.v1.Creation/BindAddress */
export const bindAddressRpc =
  (command: ReturnType<typeof bindAddress>): Handler<CreationService["bindAddress"]> =>
  async ({ accountId, chainName, address, serverKeyIndex, serverKeyVersion }, call) => {
    requireAccountIds([accountId], "/accountId");
    const isNew = serverKeyIndex === KEY_ROLES.server.initialIndex && serverKeyVersion > 0;
    if (address.length !== 8 || !isNew) {
      throw new AppError("InvalidRequest", { detail: "an address has 8 bytes, a new account its first server key" });
    }
    const binding = { accountId, chainName, address: bytesToHex(address), serverKeyIndex, serverKeyVersion };
    await command(binding, call.requestId);
    return {};
  };
