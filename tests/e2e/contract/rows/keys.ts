import { sendKeyChange } from "@countersign/client";
import { generateDeviceKey } from "@countersign/client/node";
import { z } from "zod";
import { chainName, network, newPhone, secondPhone, signUpPerson, tokenOf } from "../../../support/person.ts";
import { nobodysToken } from "../common-codes.ts";
import { exchange } from "../exchange.ts";
import { once, undeployed } from "../people.ts";
import { key } from "../resources.ts";
import { CHAIN_AWAY, type Rows, WITHIN_LIMIT } from "../rows.ts";

const NOT_ON_THE_CURVE = "ab".repeat(64);
const owner = once(signUpPerson);
const accountName = "ada@cloud.example";

const register = async (change: object = {}, more: object = {}, token?: string) => {
  const { publicKey, algorithm } = generateDeviceKey();
  const recoveryKey = { publicKey, algorithm, cloudKey: { accountName }, ...change };
  return exchange("registerRecoveryKey", { token: token ?? tokenOf(await owner()), body: { recoveryKey, ...more } });
};

const report = async (publicKey: string, txId: string) =>
  exchange("reportRevocation", { token: tokenOf(await owner()), name: publicKey, query: `?txId=${txId}` });

export const keys: Rows = {
  listKeys: {
    success: async () => {
      const person = await owner();
      await register();
      return exchange("listKeys", { token: tokenOf(person), query: "?include_revoked=1" });
    },
    answer: z.strictObject({ keys: z.array(key).min(2) }),
    codes: {
      InvalidRequest: async () => exchange("listKeys", { token: await nobodysToken(), query: "?include_revoked=yes" }),
    },
  },
  registerRecoveryKey: {
    success: () => register(),
    answer: z.strictObject({ keys: z.array(key).min(2) }),
    codes: {
      InvalidPublicKey: () => register({ publicKey: NOT_ON_THE_CURVE }),
      UnsupportedKey: () => {
        const { publicKey, algorithm } = newPhone("EdDSA").deviceKey;
        return register({ publicKey, algorithm });
      },
      UnknownChain: () => register({}, { chainName: "nowhere" }),
      AccountNotReady: async () => register({}, {}, (await undeployed()).token),
      KeyAlreadyRegistered: async () => {
        const { publicKey, algorithm } = (await owner()).deviceKey;
        return register({ publicKey, algorithm });
      },
      ChainUnavailable: CHAIN_AWAY,
      RateLimited: WITHIN_LIMIT,
    },
    hostile: {
      // The account's own device key: valid to the last field, and refused.
      answers: ["KeyAlreadyRegistered"],
      sample: ({ deviceKey: { publicKey } }) => ({
        body: { recoveryKey: { publicKey, algorithm: "ES256", cloudKey: { accountName } }, chainName },
      }),
    },
  },
  reportRevocation: {
    success: async () => {
      const person = await owner();
      const { publicKey } = (await secondPhone(person)).deviceKey;
      const change = { template: "revoke-user-key", oldKey: publicKey } as const;
      const { id } = await sendKeyChange(person.client, { network, change });
      return report(`0x${publicKey.toUpperCase()}`, id);
    },
    codes: {
      InvalidRequest: async () => exchange("reportRevocation", { token: await nobodysToken() }),
      InvalidPublicKey: () => report(NOT_ON_THE_CURVE, "ab".repeat(32)),
      KeyNotFound: () => report(newPhone().deviceKey.publicKey, "ab".repeat(32)),
      TransactionPending: async () => report((await owner()).deviceKey.publicKey, "ab".repeat(32)),
      TransactionMismatch: async () => {
        const { deviceKey, signedUp } = await owner();
        return report(deviceKey.publicKey, signedUp.transaction.id);
      },
      ChainUnavailable: CHAIN_AWAY,
      RateLimited: WITHIN_LIMIT,
    },
    hostile: { answers: ["KeyNotFound"], sample: () => ({ query: `?txId=${"ab".repeat(32)}` }) },
  },
};
