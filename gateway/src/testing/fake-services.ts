import { once } from "node:events";
import type { Account, Device, PublicKey } from "@countersign/proto/common/v1/types.ts";
import { KeyAlgorithm, UserKeyType } from "@countersign/proto/common/v1/types.ts";
import { type TwoFactorAuth, TwoFactorStatus } from "@countersign/proto/device/v1/two_factor.ts";
import type { Services } from "../clients.ts";
import type { HttpCall } from "../http/call.ts";

/** A call that a fake service saw. */
export interface SeenCall {
  rpc: string;
  request: Record<string, unknown>;
  options: { onBehalfOf: HttpCall; deadlineMs: number; clientIp: string | undefined };
}

const when = new Date("2026-11-20T10:00:00.000Z");
const app = { appId: "demo", appName: "Demo wallet" };

/** The generator points of P-256 and secp256k1, and a key of Ed25519 (RFC 8032, section 7.1). */
export const SAMPLE_KEYS = {
  p256:
    "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296" +
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
  p256Compressed: "036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
  secp256k1:
    "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798" +
    "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8",
  ed25519: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
};

const deviceKey: PublicKey = {
  algorithm: KeyAlgorithm.KEY_ALGORITHM_ES256,
  bytes: Buffer.from(SAMPLE_KEYS.p256, "hex"),
};

const account: Account = {
  id: "0197a1b2-0000-7000-8000-000000000001",
  addresses: [
    {
      address: "0x01CF0E2F2F715450",
      profileImageUrl: "",
      domainName: "",
      chainName: "flow-emulator",
      chainId: 646n,
      chainType: "cadence",
    },
  ],
  parent: [],
  createdAt: when,
  updatedAt: when,
};

const device: Device = {
  id: "0197a1b2-0000-7000-8000-000000000002",
  publicKey: deviceKey,
  attributes: {
    pushToken: "",
    name: "",
    osName: "",
    osVersion: "",
    deviceManufacturer: "",
    deviceModel: "",
    lang: "",
    type: "mobile",
    sdkVersion: "",
  },
  accountId: account.id,
  createdAt: when,
  lastUsedAt: undefined,
};

const twoFactorAuth: TwoFactorAuth = {
  id: "0197a1b2-0000-7000-8000-000000000003",
  accountId: account.id,
  request: {
    id: "d9428888-122b-4f5e-8a70-000000000004",
    app,
    signIn: { email: "ada@example.com", ip: "192.0.2.7", location: "" },
    srcDevice: device,
    destDevice: undefined,
    message: Buffer.from("464c4f57", "hex"),
    requestedAt: when,
  },
  status: TwoFactorStatus.TWO_FACTOR_STATUS_PENDING,
  resultTxId: "",
  expiresAt: when,
};

const signedIn = {
  account,
  transaction: { id: "ab".repeat(32), chainName: "flow-emulator", refUrl: "http://node.test/1" },
  credentials: { accessToken: "access", refreshToken: "refresh" },
};

const key = {
  accountKey: deviceKey,
  accountId: account.id,
  chainName: "flow-emulator",
  app,
  name: "Phone",
  keyIndex: 1,
  lastUsedAt: undefined,
  revokedAt: undefined,
  createdAt: when,
  weight: 1,
};

const signature = { address: Buffer.from("01cf0e2f2f715450", "hex"), keyId: 2, signature: Buffer.alloc(64, 0xab) };

/** Services that answer with samples and remember what they were asked. `fail` makes the next call reject. */
export function createFakeServices() {
  const calls: SeenCall[] = [];
  let failure: Error | undefined;
  /** What a stream of events brings, and whether it stays open then. */
  const streamed = {
    open: false,
    events: [{ id: "42", type: "device.updated", dataJson: `{"deviceId":"${device.id}"}`, occurredAt: when }],
  };
  const rpc =
    <Response>(name: string, answer: Response) =>
    async (request: unknown, options: unknown): Promise<Response> => {
      calls.push({ rpc: name, request: request as SeenCall["request"], options: options as SeenCall["options"] });
      const error = failure;
      failure = undefined;
      if (error) throw error;
      return answer;
    };
  const services: { [Name in keyof Services]: Partial<Services[Name]> } = {
    signUp: { signUp: rpc("signUp", signedIn) },
    signIn: {
      issueChallenge: rpc("issueChallenge", { challengeData: Buffer.alloc(16, 0xcd), expiresAt: when }),
      respondChallenge: rpc("respondChallenge", { ...signedIn, transaction: undefined }),
      requestTwoFactor: rpc("requestTwoFactor", { twoFactorAuth, ephemeralAccessToken: "ephemeral" }),
      finishTwoFactor: rpc("finishTwoFactor", signedIn),
    },
    sessions: {
      refreshToken: rpc("refreshToken", { credentials: signedIn.credentials }),
      signOut: rpc("signOut", {}),
      listSessions: rpc("listSessions", {
        sessions: [
          { id: account.id, app, deviceKey, createdAt: when, lastUsedAt: when, expiresAt: when, current: true },
        ],
      }),
      endSession: rpc("endSession", {}),
      endOtherSessions: rpc("endOtherSessions", {}),
    },
    access: {
      removeDevice: rpc("removeDevice", { publicKey: deviceKey }),
      freezeAccount: rpc("freezeAccount", {}),
      unfreezeAccount: rpc("unfreezeAccount", {}),
    },
    devices: {
      listDevices: rpc("listDevices", { devices: [device] }),
      updateDevice: rpc("updateDevice", { device }),
    },
    accountEvents: {
      watch: async function* (request, options) {
        await rpc("watch", undefined)(request, options);
        yield { id: "41", type: "", dataJson: "", occurredAt: undefined };
        yield* streamed.events;
        const { onBehalfOf: call } = options as SeenCall["options"];
        // Without listeners, `once` on a signal that has aborted would never resolve.
        if (streamed.open && !call.signal.aborted) await once(call.signal, "abort");
      },
    },
    twoFactor: {
      getTwoFactor: rpc("getTwoFactor", { twoFactorAuth }),
      listTwoFactor: rpc("listTwoFactor", {
        twoFactorAuths: [
          twoFactorAuth,
          {
            ...twoFactorAuth,
            request: { ...twoFactorAuth.request!, destDevice: device },
            status: TwoFactorStatus.TWO_FACTOR_STATUS_FINISHED,
            resultTxId: "ab".repeat(32),
          },
        ],
      }),
      redirectTwoFactor: rpc("redirectTwoFactor", { twoFactorAuth }),
      rejectTwoFactor: rpc("rejectTwoFactor", {}),
      approveTwoFactor: rpc("approveTwoFactor", {}),
      reopenTwoFactor: rpc("reopenTwoFactor", {}),
    },
    keys: {
      listKeys: rpc("listKeys", {
        keys: [
          { ...key, userKey: { type: UserKeyType.USER_KEY_TYPE_DEVICE, deviceKey, device } },
          { ...key, recoverKey: { type: "cloud", cloudAccountName: "ada", pending: true }, keyIndex: -1 },
        ],
      }),
      registerRecoveryKey: rpc("registerRecoveryKey", {
        keys: [{ ...key, recoverKey: { type: "cloud", cloudAccountName: "ada", pending: true }, keyIndex: -1 }],
      }),
      reportRevocation: rpc("reportRevocation", {}),
    },
    timeLocks: {
      listTimeLocks: rpc("listTimeLocks", {
        timeLocks: [
          {
            id: account.id,
            operation: "add-recovery-key",
            chainName: "flow-emulator",
            startedAt: when,
            availableAt: when,
            cancelledAt: undefined,
          },
        ],
      }),
      cancelTimeLock: rpc("cancelTimeLock", {}),
    },
    accounts: { getMe: rpc("getMe", { account }), linkParent: rpc("linkParent", { account }) },
    networks: {
      listNetworks: rpc("listNetworks", {
        networks: [
          {
            chainName: "flow-emulator",
            chainType: "cadence",
            chainId: 646n,
            accessNode: "http://127.0.0.1:8888",
            paymaster: Buffer.from("f3fcd2c1a78f5eee", "hex"),
            explorerUrl: "http://127.0.0.1:8888/v1/transaction_results/{id}",
          },
        ],
      }),
    },
    messages: { prepareMessage: rpc("prepareMessage", { message: Buffer.from("464c4f57", "hex") }) },
    information: {
      listTemplates: rpc("listTemplates", {
        templates: [
          {
            name: "revoke-user-key",
            script: "transaction(userKey: String) {}",
            parameters: [{ name: "userKey", type: "String", value: "" }],
            gasLimit: 9999n,
          },
        ],
      }),
    },
    serverKeys: {
      listServerKeyRotations: rpc("listServerKeyRotations", {
        rotations: [{ chainName: "flow-emulator", message: Buffer.from("464c4f57", "hex") }],
      }),
      rotateServerKey: rpc("rotateServerKey", { transaction: signedIn.transaction, done: true }),
    },
    signing: {
      signTransaction: rpc("signTransaction", { signature, audit: undefined }),
      signPaymaster: rpc("signPaymaster", { signature, audit: undefined }),
    },
  };
  return {
    /** Without the methods that the routes do not call. */
    clients: services as Services,
    calls,
    streamed,
    fail(error: Error) {
      failure = error;
    },
  };
}
