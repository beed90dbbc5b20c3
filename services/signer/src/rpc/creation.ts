import { AppError } from "@countersign/errors";
import { bytesToHex } from "@countersign/keys";
import type { CreationService } from "@countersign/proto/signer/v1/creation.ts";
import { type Handlers, isUuid, publicKeyToProto } from "@countersign/service-kit";
import type { bindAddress } from "../domain/bind-address.ts";
import { type deriveServerKeys, FIRST_SERVER_KEY_VERSION } from "../domain/derive-server-keys.ts";
import type { signCreation } from "../domain/sign-creation.ts";
import { toSigned } from "./messages.ts";

export interface CreationCommands {
  readonly deriveServerKeys: ReturnType<typeof deriveServerKeys>;
  readonly signCreation: ReturnType<typeof signCreation>;
  readonly bindAddress: ReturnType<typeof bindAddress>;
}

function requireUuids(ids: readonly string[], pointer: string): void {
  if (!ids.every(isUuid)) throw new AppError("InvalidRequest", { fields: [{ pointer, detail: "not a UUID" }] });
}

/** signer.v1.Creation: what the account service needs to deploy accounts. */
export const creationRpcs = (commands: CreationCommands): Handlers<CreationService> => ({
  async deriveServerKeys({ chainName, accountIds }) {
    requireUuids(accountIds, "/accountIds");
    const keys = await commands.deriveServerKeys(chainName, accountIds);
    return {
      serverKeys: keys.map((key, i) => ({
        accountId: accountIds[i]!,
        publicKey: publicKeyToProto(key),
        version: FIRST_SERVER_KEY_VERSION,
      })),
    };
  },

  async signCreation({ chainName, message, accountIds }, call) {
    requireUuids(accountIds, "/accountIds");
    return toSigned(await commands.signCreation({ chainName, message, accountIds, caller: call.caller }));
  },

  async bindAddress({ accountId, chainName, address, serverKeyIndex, serverKeyVersion }, call) {
    requireUuids([accountId], "/accountId");
    if (address.length !== 8 || serverKeyVersion !== FIRST_SERVER_KEY_VERSION) {
      throw new AppError("InvalidRequest", { detail: "an address has 8 bytes, a new account the first key version" });
    }
    const binding = { accountId, chainName, address: bytesToHex(address), serverKeyIndex, serverKeyVersion };
    await commands.bindAddress(binding, call.requestId);
    return {};
  },
});
