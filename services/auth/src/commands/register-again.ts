import { isAppError, systemClock, uuidv7 } from "@countersign/core";
import { openPostgres } from "@countersign/postgres";
import { DevicesService } from "@countersign/proto/device/v1/devices.ts";
import { KeyOrigin, KeysService } from "@countersign/proto/key/v1/keys.ts";
import { createRpcClient } from "@countersign/rpc";
import { CHAIN_ARGUMENTS, changedAccounts, command, loadTls, readSince } from "@countersign/runtime";
import { registrationSteps } from "../clients/sign-up-steps.ts";
import { loadConfig } from "../config.ts";
import { FIRST_USER_KEY_INDEX } from "../domain/sign-up/sign-up-saga.ts";
import { PrismaClient } from "../store/generated/client.ts";
import { toSaga, toTwoFactorSignIn } from "../store/rows.ts";

/** Reasons for which the key or the device service takes one enrollment for no new one. */
const REFUSALS = ["TooManyKeys", "TooManyDevices", "DeviceConflict", "InvalidRequest"] as const;

/**
 * `auth register-again`: registers the keys and devices that auth saw enrolled since a moment with the key
 * and device services once more, with auth's settings, while all services run. Keys that are blocked, or
 * revoked on chain, stay out. Idempotent.
 */
export const registerAgain = command({
  usage: `register-again --since <time> ${CHAIN_ARGUMENTS.usage}`,
  about: "Registers keys and devices that were enrolled since again, where the other services lost them.",
  options: { ...CHAIN_ARGUMENTS.options, since: { type: "string" } },
  async run({ values, env, print }) {
    const { lines, found } = CHAIN_ARGUMENTS.read(this.usage, values);
    const since = readSince(this.usage, values.since);
    const config = loadConfig(env);
    const changed = changedAccounts(lines, found);
    const onChain = new Map(
      changed.flatMap(({ accountId, chainName, keys }) =>
        keys.map((key) => [`${accountId}/${chainName}/${key.publicKey}`, key] as const),
      ),
    );
    const tls = loadTls(config.tls);
    const { key, device } = config.addresses;
    const keys = createRpcClient(KeysService, { address: key, tls, serverName: "key", deadlineMs: 5_000 });
    const devices = createRpcClient(DevicesService, { address: device, tls, serverName: "device", deadlineMs: 5_000 });
    const postgres = openPostgres(config.secrets.databaseUrl, { connections: 2 });
    const prisma = new PrismaClient({ adapter: postgres.adapter });
    const context = { requestId: "", signal: new AbortController().signal };
    let [registered, left] = [0, 0];
    try {
      const signedUp = await prisma.signUp.findMany({ where: { completedAt: { gte: since } } });
      const enrolled = await prisma.twoFactorSignIn.findMany({ where: { enrolledAt: { gte: since } } });
      const bySignUp = registrationSteps({ keys, devices }, KeyOrigin.KEY_ORIGIN_SIGN_UP);
      const byApproval = registrationSteps({ keys, devices }, KeyOrigin.KEY_ORIGIN_TWO_FACTOR);
      for (const [enrolledKey, deviceId, first, steps] of [
        ...signedUp.map((row) => [toSaga(row), row.deviceId, FIRST_USER_KEY_INDEX, bySignUp] as const),
        ...enrolled.map((row) => [toTwoFactorSignIn(row), uuidv7(systemClock), undefined, byApproval] as const),
      ]) {
        const { accountId, chainName, accountKey, deviceKey } = enrolledKey;
        const onItsChain = onChain.get(`${accountId}/${chainName}/${accountKey.publicKey}`);
        const index = onItsChain?.index ?? first;
        const blocked = await prisma.blockedKey.count({ where: { accountId, OR: [accountKey, deviceKey] } });
        if (index === undefined || onItsChain?.revoked || blocked > 0) left += 1;
        else {
          try {
            await steps.registerKey(enrolledKey, index, context);
            await steps.registerDevice(enrolledKey, deviceId, context);
            registered += 1;
          } catch (error) {
            // Such as one device too many, where the removal of another one is lost. The others go on.
            if (!isAppError(error, ...REFUSALS)) throw error;
            print(`REFUSED  a device of account ${accountId}: ${error.reason}`);
          }
        }
      }
    } finally {
      keys.close();
      devices.close();
      await prisma.$disconnect();
      await postgres.close();
    }
    print(`${registered} keys and devices are registered; ${left} are blocked, revoked or not on chain and stay out`);
  },
});
