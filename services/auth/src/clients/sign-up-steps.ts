import {
  type AccountsService,
  type DeployAccountResponse,
  DeploymentStatus,
} from "@countersign/proto/account/v1/accounts.ts";
import type { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { KeyOrigin, type KeysService } from "@countersign/proto/key/v1/keys.ts";
import { publicKeyToProto, type RpcClient, USER_KEY_TYPES } from "@countersign/rpc";
import type { CancelOptions } from "../domain/admin/end-sign-up.ts";
import { type Deployed, FIRST_USER_KEY_INDEX, type SignUpSteps } from "../domain/sign-up/sign-up-saga.ts";
import type { EnrollmentSteps } from "../domain/two-factor/two-factor-sign-in.ts";

const STATUS = new Map<number, Deployed["status"]>([
  [DeploymentStatus.DEPLOYMENT_STATUS_DEPLOYED, "deployed"],
  [DeploymentStatus.DEPLOYMENT_STATUS_FAILED, "failed"],
]);

interface StepClients {
  readonly accounts: RpcClient<AccountsService>;
  readonly keys: RpcClient<KeysService>;
  readonly devices: RpcClient<DevicesService>;
}

/** Time for the answer after the wait for the chain: "pending" must arrive before the deadline. */
const ANSWER_MARGIN_MS = 3_000;

/** Registers a new key and its device with the services that own them, each by one idempotent call. */
export const registrationSteps = (
  { keys, devices }: Pick<StepClients, "keys" | "devices">,
  origin: KeyOrigin,
): EnrollmentSteps => ({
  async registerKey({ accountId, chainName, app, userKeyType, accountKey, deviceKey, device }, keyIndex, context) {
    const request = {
      accountId,
      chainName,
      app: { ...app },
      type: USER_KEY_TYPES[userKeyType],
      accountKey: publicKeyToProto(accountKey),
      deviceKey: publicKeyToProto(deviceKey),
      keyIndex,
      origin,
      name: device.name,
    };
    await keys.registerKey(request, { ...context, idempotent: true });
  },

  async registerDevice({ accountId, deviceKey, device }, deviceId, context) {
    const request = { accountId, deviceId, publicKey: publicKeyToProto(deviceKey), attributes: { ...device } };
    await devices.registerDevice(request, { ...context, idempotent: true });
  },
});

/** Performs the steps of sign-up, each by an idempotent call to the service that owns the data. */
export function signUpSteps(clients: StepClients): SignUpSteps<Deployed & { answer: DeployAccountResponse }> {
  const { registerKey, registerDevice } = registrationSteps(clients, KeyOrigin.KEY_ORIGIN_SIGN_UP);
  return {
    async deployAccount({ accountId, chainName, accountKey, profileImageUrl }, { waitMs, keepFailed }, context) {
      const userKey = publicKeyToProto(accountKey);
      const answer = await clients.accounts.deployAccount(
        { accountId, chainName, userKey, profileImageUrl, waitMs, keepFailed },
        { ...context, deadlineMs: waitMs + ANSWER_MARGIN_MS, idempotent: true },
      );
      return { status: STATUS.get(answer.status) ?? "pending", answer };
    },
    registerKey: (saga, context) => registerKey(saga, FIRST_USER_KEY_INDEX, context),
    registerDevice: (saga, context) => registerDevice(saga, saga.deviceId, context),
  };
}

/** Returns account.v1.Accounts/CancelDeployment for a sign-up. */
export const cancelDeployment =
  (accounts: RpcClient<AccountsService>): CancelOptions["cancelDeployment"] =>
  async (of, userKey, context) => {
    await accounts.cancelDeployment({ ...of, userKey: publicKeyToProto(userKey) }, { ...context, idempotent: true });
  };
