import type { Device } from "@countersign/proto/common/v1/types.ts";
import type { KeysService } from "@countersign/proto/key/v1/keys.ts";
import type { CallContext, Handlers } from "@countersign/rpc";
import { describeAccess } from "../domain/describe-access.ts";
import { findSignInKey } from "../domain/find-sign-in-key.ts";
import type { FollowChain } from "../domain/follow-chain.ts";
import { listKeys } from "../domain/list-keys.ts";
import { listPasskeys } from "../domain/list-passkeys.ts";
import type { ChainDirectory, DeviceDirectory } from "../domain/ports.ts";
import { type RegisterKeyOptions, registerKey } from "../domain/register-key.ts";
import { registerRecoveryKey } from "../domain/register-recovery-key.ts";
import { reportRevocation } from "../domain/report-revocation.ts";
import { describeAccessRpc } from "./describe-access.ts";
import { findSignInKeyRpc } from "./find-sign-in-key.ts";
import { listKeysRpc } from "./list-keys.ts";
import { listPasskeysRpc } from "./list-passkeys.ts";
import { registerKeyRpc } from "./register-key.ts";
import { registerRecoveryKeyRpc } from "./register-recovery-key.ts";
import { reportRevocationRpc } from "./report-revocation.ts";

export type KeysOptions = RegisterKeyOptions & {
  devices: DeviceDirectory<CallContext, Device>;
  chain: ChainDirectory<CallContext>;
  /** See followChain and repairOnRead. */
  follow(command: FollowChain): Promise<void>;
  repair(command: FollowChain): Promise<void>;
  /**
   * Looks at the chain for registering a recovery key, which may take longer than those for a list of keys.
   */
  registration?: Pick<KeysOptions, "chain" | "follow">;
};

/** The RPCs of key.v1.Keys over these ports. */
export const keysHandlers = (options: KeysOptions): Handlers<KeysService> => ({
  registerKey: registerKeyRpc(registerKey(options)),
  findSignInKey: findSignInKeyRpc(findSignInKey(options)),
  listPasskeys: listPasskeysRpc(listPasskeys(options)),
  describeAccess: describeAccessRpc(describeAccess(options)),
  listKeys: listKeysRpc(listKeys(options)),
  reportRevocation: reportRevocationRpc(reportRevocation(options)),
  registerRecoveryKey: registerRecoveryKeyRpc(
    registerRecoveryKey({ ...options, ...options.registration }),
    listKeys(options),
  ),
});
