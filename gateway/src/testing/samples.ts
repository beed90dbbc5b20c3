import type { Account, Device, PublicKey } from "@countersign/proto/common/v1/types.ts";
import { KeyAlgorithm, UserKeyType } from "@countersign/proto/common/v1/types.ts";
import { type TwoFactorAuth, TwoFactorStatus } from "@countersign/proto/device/v1/two_factor.ts";
import type { Services } from "../clients.ts";

/*
 * The inputs of the routes' tests for each operation: a good request, bodies with one wrong field, its
 * deadline, and what the service behind it answers. A new operation has all of it here.
 */

export const when = new Date("2026-11-20T10:00:00.000Z");
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

export const device: Device = {
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

const userSignature = { address: "0x01cf0e2f2f715450", signature: "ab".repeat(64) };

const twoFactor = "/device/v1/2fa/0197a1b2-0000-7000-8000-000000000003";
const login = { method: "id_token_channel", token: "an-id-token", chainName: "flow-emulator" };

/** One good request of every operation that has input. */
export const GOOD_REQUESTS: Record<string, { path?: string; body?: Record<string, unknown> }> = {
  signUp: { body: { ...login, userKey: { type: "device", publicKey: SAMPLE_KEYS.p256, device: { name: "Phone" } } } },
  issueChallenge: { body: { challengeType: "deviceKey", request: login, publicKey: SAMPLE_KEYS.p256 } },
  respondChallenge: {
    body: {
      challengeType: "deviceKey",
      challengeData: "000102030405060708090a0b0c0d0e0f",
      deviceKey: { signature: "ab".repeat(64) },
    },
  },
  requestTwoFactor: {
    body: { request: login, userKey: { type: "device", publicKey: SAMPLE_KEYS.p256, device: { name: "New phone" } } },
  },
  finishTwoFactor: { body: { twoFactorAuthRequestId: "0197A1B2-0000-7000-8000-000000000003" } },
  getTwoFactor: { path: twoFactor },
  redirectTwoFactor: { path: twoFactor, body: { destDeviceId: "0197a1b2-0000-7000-8000-000000000002" } },
  rejectTwoFactor: { path: twoFactor },
  approveTwoFactor: { path: `${twoFactor}/approve`, body: { txId: "ab".repeat(32) } },
  refreshToken: { body: { refreshToken: "a-refresh-token" } },
  issueIdentityToken: { body: { nonce: "n" } },
  endSession: { path: "/auth/v1/sessions/0197a1b2-0000-7000-8000-000000000001" },
  updateDevice: { path: `/device/v1/devices/${SAMPLE_KEYS.p256}`, body: { name: "Tablet" } },
  removeDevice: { path: `/device/v1/devices/${SAMPLE_KEYS.p256}` },
  cancelTimeLock: { path: "/account/v1/time-locks/0197a1b2-0000-7000-8000-000000000001" },
  prepareMessage: { body: { template: "revoke-recovery-key", chainName: "flow-emulator" } },
  registerRecoveryKey: {
    body: { recoveryKey: { publicKey: SAMPLE_KEYS.p256, cloudKey: { accountName: "ada@cloud.example" } } },
  },
  reportRevocation: { path: `/key/v1/keys/${SAMPLE_KEYS.p256}?txId=${"ab".repeat(32)}` },
  rotateServerKey: { body: { chainName: "flow-emulator", message: "464c4f57", signature: "ab".repeat(64) } },
  signTransaction: { body: { message: "464c4f57" } },
  signPaymaster: { body: { message: "464c4f57" } },
  signUserMessage: { body: { ...userSignature, message: "492061677265652e" } },
  signAccountProof: { body: { ...userSignature, appIdentifier: "https://dapp.example", nonce: "75".repeat(32) } },
};

/** Bodies with one wrong type each, and the pointer that must name it. */
export const WRONG_TYPES: [operationId: string, body: unknown, pointer: string][] = [
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, token: 1 }, "/token"],
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, method: "carrier_pigeon" }, "/method"],
  [
    "signUp",
    { ...GOOD_REQUESTS.signUp!.body, userKey: { type: "device", publicKey: 5, device: {} } },
    "/userKey/publicKey",
  ],
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, userKey: { type: "device", publicKey: "00" } }, "/userKey/device"],
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, chainName: "\ud800" }, "/chainName"],
  ["signUp", { ...GOOD_REQUESTS.signUp!.body, attestationType: "safetynet" }, "/attestationType"],
  [
    "requestTwoFactor",
    { ...GOOD_REQUESTS.requestTwoFactor!.body, attestationType: "app-attest", attestationToken: "x".repeat(16_385) },
    "/attestationToken",
  ],
  ["issueChallenge", { ...GOOD_REQUESTS.issueChallenge!.body, request: [] }, "/request"],
  ["issueChallenge", { challengeType: "deviceKey", request: login }, "/publicKey"],
  ["issueChallenge", { ...GOOD_REQUESTS.issueChallenge!.body, request: { chainName: "x" } }, "/request/method"],
  ["respondChallenge", { ...GOOD_REQUESTS.respondChallenge!.body, challengeData: "xyz" }, "/challengeData"],
  ["respondChallenge", { ...GOOD_REQUESTS.respondChallenge!.body, deviceKey: null }, "/deviceKey"],
  [
    "respondChallenge",
    { ...GOOD_REQUESTS.respondChallenge!.body, deviceKey: { signature: "" } },
    "/deviceKey/signature",
  ],
  ["requestTwoFactor", { ...GOOD_REQUESTS.requestTwoFactor!.body, request: { chainName: "x" } }, "/request/method"],
  ["requestTwoFactor", { ...GOOD_REQUESTS.requestTwoFactor!.body, userKey: { type: "device" } }, "/userKey/publicKey"],
  ["prepareMessage", { ...GOOD_REQUESTS.prepareMessage!.body, address: "0x01" }, "/address"],
  ["prepareMessage", { ...GOOD_REQUESTS.prepareMessage!.body, template: "" }, "/template"],
  ["prepareMessage", { ...GOOD_REQUESTS.prepareMessage!.body, publicKey: 5 }, "/publicKey"],
  ["prepareMessage", { template: "revoke-recovery-key" }, "/chainName"],
  ["finishTwoFactor", { twoFactorAuthRequestId: "" }, "/twoFactorAuthRequestId"],
  ["redirectTwoFactor", { destDeviceId: "x" }, "/destDeviceId"],
  ["approveTwoFactor", { txId: "ab".repeat(31) }, "/txId"],
  ["approveTwoFactor", { txId: "ab".repeat(33) }, "/txId"],
  ["approveTwoFactor", { txId: null }, "/txId"],
  ["approveTwoFactor", { signature: "" }, "/signature"],
  ["approveTwoFactor", { signature: "ab".repeat(73) }, "/signature"],
  ["approveTwoFactor", { signature: "ab".repeat(64), txId: "ab".repeat(32) }, "/signature"],
  ["approveTwoFactor", { txId: "ab".repeat(32), authenticatorData: "AAAA", clientDataJSON: "{}" }, "/clientDataJSON"],
  ["approveTwoFactor", { signature: "ab".repeat(64), clientDataJSON: "{}" }, "/authenticatorData"],
  ["approveTwoFactor", { signature: "ab".repeat(64), authenticatorData: "AAAA" }, "/clientDataJSON"],
  ["refreshToken", { refreshToken: null }, "/refreshToken"],
  ["issueIdentityToken", { nonce: 7 }, "/nonce"],
  ["updateDevice", { name: "x".repeat(257) }, "/name"],
  ["updateDevice", { pushToken: "x".repeat(4_097) }, "/pushToken"],
  ["updateDevice", { lang: "a\u0000b" }, "/lang"],
  ["registerRecoveryKey", { recoveryKey: { publicKey: SAMPLE_KEYS.p256 } }, "/recoveryKey/cloudKey"],
  ["registerRecoveryKey", { recoveryKey: { publicKey: 1, cloudKey: { accountName: "" } } }, "/recoveryKey/publicKey"],
  ["rotateServerKey", { ...GOOD_REQUESTS.rotateServerKey!.body, signature: "ab".repeat(65) }, "/signature"],
  ["rotateServerKey", { ...GOOD_REQUESTS.rotateServerKey!.body, extensionData: "" }, "/extensionData"],
  ["signTransaction", { message: "0x123" }, "/message"],
  ["signPaymaster", { message: { hex: "00" } }, "/message"],
  ["signUserMessage", { ...GOOD_REQUESTS.signUserMessage!.body, message: "0x" }, "/message"],
  ["signUserMessage", { ...GOOD_REQUESTS.signUserMessage!.body, message: "41".repeat(4_097) }, "/message"],
  ["signUserMessage", { ...GOOD_REQUESTS.signUserMessage!.body, signature: "ab".repeat(63) }, "/signature"],
  ["signUserMessage", { ...GOOD_REQUESTS.signUserMessage!.body, address: "0x01" }, "/address"],
  ["signUserMessage", { ...GOOD_REQUESTS.signUserMessage!.body, extensionData: "" }, "/extensionData"],
  ["signAccountProof", { ...GOOD_REQUESTS.signAccountProof!.body, appIdentifier: "" }, "/appIdentifier"],
  ["signAccountProof", { ...GOOD_REQUESTS.signAccountProof!.body, nonce: "75".repeat(31) }, "/nonce"],
  ["signAccountProof", { ...GOOD_REQUESTS.signAccountProof!.body, signature: null }, "/signature"],
];

/** The milliseconds that an operation has, where they are not those of most operations. */
export const DEADLINES: Record<string, number> = {
  reportRevocation: 8_000,
  registerRecoveryKey: 8_000,
  signUp: 25_000,
  linkParent: 8_000,
  prepareMessage: 8_000,
  listServerKeyRotations: 8_000,
  rotateServerKey: 12_500,
  requestTwoFactor: 8_000,
  finishTwoFactor: 8_000,
  approveTwoFactor: 12_500,
  signTransaction: 2_000,
  signPaymaster: 2_000,
  signUserMessage: 2_000,
  signAccountProof: 2_000,
};

type Answers = {
  [Service in keyof Omit<Services, "accountEvents">]: {
    [Method in keyof Services[Service]]?: Services[Service][Method] extends (...call: never[]) => Promise<infer Answer>
      ? Answer
      : never;
  };
};

/** Answers of the services, by the gateway's name of the service and the method. */
export const ANSWERS: Answers = {
  signUp: { signUp: signedIn },
  signIn: {
    issueChallenge: { challengeData: Buffer.alloc(16, 0xcd), expiresAt: when },
    respondChallenge: { ...signedIn, transaction: undefined },
    requestTwoFactor: { twoFactorAuth, ephemeralAccessToken: "ephemeral" },
    finishTwoFactor: signedIn,
  },
  sessions: {
    refreshToken: { credentials: signedIn.credentials },
    issueIdentityToken: { identityToken: "identity", expiresAt: when },
    signOut: {},
    listSessions: {
      sessions: [{ id: account.id, app, deviceKey, createdAt: when, lastUsedAt: when, expiresAt: when, current: true }],
    },
    endSession: {},
    endOtherSessions: {},
  },
  access: {
    removeDevice: { publicKey: deviceKey },
    freezeAccount: {},
    unfreezeAccount: {},
  },
  devices: {
    listDevices: { devices: [device] },
    updateDevice: { device },
  },
  twoFactor: {
    getTwoFactor: { twoFactorAuth },
    listTwoFactor: {
      twoFactorAuths: [
        twoFactorAuth,
        {
          ...twoFactorAuth,
          request: { ...twoFactorAuth.request!, destDevice: device },
          status: TwoFactorStatus.TWO_FACTOR_STATUS_FINISHED,
          resultTxId: "ab".repeat(32),
        },
      ],
    },
    redirectTwoFactor: { twoFactorAuth },
    rejectTwoFactor: {},
    approveTwoFactor: {},
    reopenTwoFactor: {},
  },
  keys: {
    listKeys: {
      keys: [
        { ...key, userKey: { type: UserKeyType.USER_KEY_TYPE_DEVICE, deviceKey, device } },
        { ...key, recoverKey: { type: "cloud", cloudAccountName: "ada", pending: true }, keyIndex: -1 },
      ],
    },
    registerRecoveryKey: {
      keys: [{ ...key, recoverKey: { type: "cloud", cloudAccountName: "ada", pending: true }, keyIndex: -1 }],
    },
    reportRevocation: {},
  },
  timeLocks: {
    listTimeLocks: {
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
    },
    cancelTimeLock: {},
  },
  accounts: { getMe: { account }, linkParent: { account } },
  networks: {
    listNetworks: {
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
    },
  },
  messages: { prepareMessage: { message: Buffer.from("464c4f57", "hex") } },
  information: {
    listTemplates: {
      templates: [
        {
          name: "revoke-user-key",
          script: "transaction(userKey: String) {}",
          parameters: [{ name: "userKey", type: "String", value: "" }],
          gasLimit: 9999n,
        },
      ],
    },
  },
  serverKeys: {
    listServerKeyRotations: {
      rotations: [{ chainName: "flow-emulator", message: Buffer.from("464c4f57", "hex") }],
    },
    rotateServerKey: { transaction: signedIn.transaction, done: true },
  },
  signing: {
    signTransaction: { signature, audit: undefined },
    signPaymaster: { signature, audit: undefined },
  },
  userMessages: {
    signUserMessage: { signature, audit: undefined },
    signAccountProof: { signature, audit: undefined },
  },
};
