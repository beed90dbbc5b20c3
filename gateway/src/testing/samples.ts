import { SAMPLE_KEYS } from "./fake-services.ts";

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
  ["updateDevice", { name: "x".repeat(257) }, "/name"],
  ["updateDevice", { pushToken: "x".repeat(4_097) }, "/pushToken"],
  ["updateDevice", { lang: "a\u0000b" }, "/lang"],
  ["registerRecoveryKey", { recoveryKey: { publicKey: SAMPLE_KEYS.p256 } }, "/recoveryKey/cloudKey"],
  ["registerRecoveryKey", { recoveryKey: { publicKey: 1, cloudKey: { accountName: "" } } }, "/recoveryKey/publicKey"],
  ["rotateServerKey", { ...GOOD_REQUESTS.rotateServerKey!.body, signature: "ab".repeat(65) }, "/signature"],
  ["rotateServerKey", { ...GOOD_REQUESTS.rotateServerKey!.body, extensionData: "" }, "/extensionData"],
  ["signTransaction", { message: "0x123" }, "/message"],
  ["signPaymaster", { message: { hex: "00" } }, "/message"],
];
