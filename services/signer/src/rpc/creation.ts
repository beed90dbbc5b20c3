import { AppError } from "@countersign/core";
import { KEY_ROLES } from "@countersign/flow";
import { bytesToHex } from "@countersign/keys";
import type { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { type Handlers, publicKeyToProto } from "@countersign/rpc";
import type { Commands } from "../domain/commands.ts";
import { requireAccountIds, requireLength, signedToProto } from "./conversions.ts";

/** Handles signer.v1.Creation. */
export const creationHandlers = (commands: Commands): Handlers<CreationService> => ({
  async deriveServerKeys({ chainName, accountIds }) {
    requireAccountIds(accountIds, "/accountIds");
    const { version, publicKeys } = await commands.deriveServerKeys(chainName, accountIds);
    const serverKeys = accountIds.map((accountId, i) => ({
      accountId,
      publicKey: publicKeyToProto(publicKeys[i]!),
      version,
    }));
    return { serverKeys };
  },

  async signCreation({ chainName, message, accountIds }, { caller }) {
    requireAccountIds(accountIds, "/accountIds");
    return signedToProto(await commands.signCreation({ chainName, message, accountIds, caller }));
  },

  async bindAddress({ accountId, chainName, address, serverKeyIndex, serverKeyVersion }, { requestId }) {
    requireAccountIds([accountId]);
    requireLength(address, 8, "address");
    if (serverKeyIndex !== KEY_ROLES.server.initialIndex || serverKeyVersion <= 0) {
      const detail = `a new account has its server key at index ${KEY_ROLES.server.initialIndex}, of a version from 1 on`;
      throw new AppError("InvalidRequest", { detail });
    }
    const binding = { accountId, chainName, address: bytesToHex(address), serverKeyIndex, serverKeyVersion };
    await commands.bindAddress(binding, requestId);
    return {};
  },
});
